package dev.warmpath.cli;

import dev.warmpath.cli.fleet.FleetFile;
import dev.warmpath.cli.fleet.FleetMember;
import dev.warmpath.cli.fleet.FleetStop;
import dev.warmpath.cli.fleet.StateLock;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.json.JsonMapper;

/** {@code down}: stops the fleet. */
@Command(name = "down", description = {"Stop the fleet.",
        "Routers go first, then workers, when answers under way have ended, or after 15 s."})
final class DownCommand implements Callable<Integer> {

    private final Call call;

    @Spec
    CommandSpec spec;

    @Option(names = "--json", description = "As JSON: which processes were running.")
    boolean isJson;

    DownCommand(Call call) {
        this.call = call;
    }

    @Override
    public Integer call() throws IOException {
        PrintWriter out = spec.commandLine().getOut();
        Path state = call.installation().state();
        FleetFile fleet = FleetFile.read(state);
        boolean isStarting = StateLock.isAt(state, StateLock.UP);
        List<String> running = fleet == null ? List.of()
                : fleet.members().stream().filter(FleetMember::isRunning).map(FleetMember::id).toList();
        boolean stops = isStarting || !running.isEmpty();
        if (stops && !isJson) {
            out.println("stopping ...");
            out.flush();
        }
        if (fleet != null || isStarting) {
            new FleetStop(call.installation()).stopLocked();
        }
        out.println(isJson ? JsonMapper.builder().build().writeValueAsString(Map.of("stopped", running))
                : stops ? "stopped" : "no fleet is running");
        return 0;
    }
}
