package dev.warmpath.cli.doctor;

import dev.warmpath.cli.build.Programs;
import dev.warmpath.cli.fleet.FleetFile;
import dev.warmpath.cli.fleet.FleetMember;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.fleet.Management;
import dev.warmpath.cli.fleet.Role;
import dev.warmpath.cli.start.FleetEnvironment;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/** The whole examination: this machine, Redis, the running fleet. */
public final class Doctor {

    private final Installation installation;
    private final Programs programs;
    private final Consumer<Finding> findings;

    /** @param findings are told as soon as they are made */
    public Doctor(Installation installation, Programs programs, Consumer<Finding> findings) {
        this.installation = installation;
        this.programs = programs;
        this.findings = findings;
    }

    /** @param port where a fleet would begin; of one that runs, its own counts */
    public void examine(int port) throws IOException {
        FleetFile fleet = FleetFile.read(installation.state());
        boolean isRunning = fleet != null && fleet.members().stream().anyMatch(FleetMember::isRunning);
        int first = fleet == null || !isRunning ? port
                : fleet.of(Role.ROUTER).stream().mapToInt(FleetMember::port).min().orElse(port);
        new MachineDoctor(installation, programs, findings).look(fleet, first);
        redis(isRunning);
        if (fleet != null && !isRunning) {
            findings.accept(Finding.missing("all processes of the fleet have ended: " + fleet.members().stream()
                    .map(FleetMember::id).collect(Collectors.joining(", ")) + "; ./warmpath logs ID says why, "
                    + "./warmpath up starts a new one"));
            return;
        }
        if (fleet == null) {
            findings.accept(Finding.ok("no fleet is running; ./warmpath up starts one"));
            return;
        }
        try (var management = new Management()) {
            new FleetDoctor(management, findings).look(fleet);
        }
    }

    private void redis(boolean isRunning) throws IOException {
        Map<String, String> environment = new HashMap<>(installation.environment());
        if (isRunning) {
            environment.remove(FleetEnvironment.REDIS_URI);
            FleetEnvironment.readRedis(environment, installation);
        }
        String uri = environment.getOrDefault(FleetEnvironment.REDIS_URI, "");
        if (uri.isEmpty()) {
            findings.accept(Finding.ok("no Redis is asked for" + (programs.installed("redis-server") != null
                    ? "; there is a redis-server for --redis embedded" : "; --redis embedded would need a "
                            + "redis-server")));
        } else {
            new RedisDoctor(environment, findings).look(uri);
        }
    }
}
