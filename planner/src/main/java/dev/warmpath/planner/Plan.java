package dev.warmpath.planner;

import dev.warmpath.planner.command.PlanCommands;

/** The program behind {@code ./warmpath plan}. */
public final class Plan {

    private Plan() {}

    /** Ends the process with the command's exit status: 0 done, 1 it failed, 2 it was called wrong. */
    public static void main(String[] arguments) {
        System.exit(PlanCommands.execute(arguments));
    }
}
