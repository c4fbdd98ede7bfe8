package dev.warmpath.cli;

import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.HelpCommand;

/** The {@code warmpath} command. The launcher script finds Java and starts this. */
@Command(name = "warmpath", mixinStandardHelpOptions = true, scope = CommandLine.ScopeType.INHERIT,
        description = "Runs a Warmpath fleet on this machine, and looks at one.",
        subcommands = HelpCommand.class)
public final class Warmpath {

    private Warmpath() {}

    /** Ends the process with the command's exit status: 0 done, 1 it failed, 2 it was called wrong. */
    public static void main(String[] arguments) {
        System.exit(new CommandLine(new Warmpath()).execute(arguments));
    }
}
