package dev.warmpath.cli;

import dev.warmpath.cli.fleet.FleetFile;
import dev.warmpath.cli.fleet.FleetMember;
import dev.warmpath.cli.fleet.Management;
import dev.warmpath.cli.fleet.Readiness;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Function;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.json.JsonMapper;

/** {@code status}: a line for each process of the fleet. */
@Command(name = "status", description = "A line per process: role, id, URL, state.")
final class StatusCommand implements Callable<Integer> {

    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final Call call;

    @Spec
    CommandSpec spec;

    @Option(names = "--json", description = "As JSON, with pids.")
    boolean isJson;

    StatusCommand(Call call) {
        this.call = call;
    }

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        FleetFile fleet = FleetFile.read(call.installation().state());
        if (fleet == null) {
            out.println(isJson ? "{\"processes\":[]}" : "no fleet is running");
            return Warmpath.FAILED;
        }
        Function<FleetMember, String> state;
        try (var management = new Management()) {
            Readiness readiness = Readiness.look(fleet, management);
            state = member -> !member.isRunning() ? "ended" : readiness.isReady(member) ? "ready" : "not ready";
            if (isJson) {
                out.println(json(fleet, state));
            } else {
                out.printf("%-7s %-10s %-28s %s%n", "ROLE", "ID", "URL", "STATE");
                fleet.members().forEach(each ->
                        out.printf("%-7s %-10s %-28s %s%n", each.role(), each.id(), each.url(), state.apply(each)));
            }
        }
        return 0;
    }

    /** All processes. */
    static String json(FleetFile fleet, Function<FleetMember, String> state) {
        return JSON.writeValueAsString(
                Map.of("processes", fleet.members().stream().map(each -> row(each, state)).toList()));
    }

    /** One process. */
    static String json(FleetMember member, String state) {
        return JSON.writeValueAsString(row(member, _ -> state));
    }

    private static Map<String, Object> row(FleetMember member, Function<FleetMember, String> state) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("role", member.role().toString());
        row.put("id", member.id());
        row.put("pid", member.pid());
        row.put("url", member.url().toString());
        row.put("state", state.apply(member));
        return row;
    }
}
