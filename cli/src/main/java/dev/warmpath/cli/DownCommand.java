package dev.warmpath.cli;

import dev.warmpath.cli.fleet.FleetFile;
import dev.warmpath.cli.fleet.FleetMember;
import dev.warmpath.cli.fleet.FleetStop;
import java.io.IOException;
import java.io.PrintWriter;
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
        var stop = new FleetStop(call.installation());
        FleetFile fleet = FleetFile.read(call.installation().state());
        if (fleet == null || fleet.members().stream().noneMatch(FleetMember::isRunning)) {
            stop.forget();
            out.println("no fleet is running");
            return 0;
        }
        out.println("stopping ...");
        stop.stop();
        out.println("stopped");
        return 0;
    }
}
