package dev.warmpath.cli;

import dev.warmpath.cli.fleet.FleetFile;
import dev.warmpath.cli.fleet.FleetMember;
import dev.warmpath.cli.fleet.FleetStop;
import dev.warmpath.cli.fleet.StateLock;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code down}: stops the fleet. */
@Command(name = "down", description = {"Stop the fleet.",
        "Routers go first, then workers, when answers under way have ended, or after 15 s."})
final class DownCommand implements Callable<Integer> {

    private final Call call;

    @Spec
    CommandSpec spec;

    DownCommand(Call call) {
        this.call = call;
    }

    @Override
    public Integer call() throws IOException {
        PrintWriter out = spec.commandLine().getOut();
        Path state = call.installation().state();
        FleetFile fleet = FleetFile.read(state);
        boolean isStarting = StateLock.isAt(state, StateLock.UP);
        boolean isRunning = fleet != null && fleet.members().stream().anyMatch(FleetMember::isRunning);
        if (isRunning || isStarting) {
            out.println("stopping ...");
            out.flush();
        }
        if (fleet != null || isStarting) {
            new FleetStop(call.installation()).stopLocked();
        }
        out.println(isRunning || isStarting ? "stopped" : "no fleet is running");
        return 0;
    }
}
