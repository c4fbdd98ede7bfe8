package dev.warmpath.planner.command;

import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code plan simulate}: a trace on fleets of several sizes, under several policies. */
@Command(name = "simulate", description = "A trace on simulated fleets: hits, times and load by policy and size.")
final class SimulateCommand implements Callable<Integer> {

    @Parameters(paramLabel = "TRACE", description = "A file of requests.")
    @Nullable Path trace;

    @Override
    public Integer call() {
        return 0;
    }
}
