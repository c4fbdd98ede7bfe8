package dev.warmpath.cli;

import dev.warmpath.cli.build.Service;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code plan}: the planner, a program of its own, which has the router's and the worker's classes in it. */
@Command(name = "plan", description = {"What a load would cost, how many workers it needs, what other policies would"
        + " do.", "analyze, simulate, size, order, replay, calibrate: see 'plan --help', and 'plan COMMAND --help' of"
                + " each."})
final class PlanCommand implements Callable<Integer> {

    /** Simulations keep what they simulate: caches of a whole fleet. */
    private static final String HEAP = "-XX:MaxRAMPercentage=50";

    private final Call call;

    @Parameters(arity = "0..*", paramLabel = "ARGS", description = "A command of the planner, and what it takes.")
    List<String> arguments = new ArrayList<>();

    PlanCommand(Call call) {
        this.call = call;
    }

    @Override
    public Integer call() throws IOException {
        return call.programs().show(call.command(Service.PLANNER, Service.PLANNER.flags(), HEAP, arguments));
    }
}
