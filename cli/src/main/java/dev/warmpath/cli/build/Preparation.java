package dev.warmpath.cli.build;

import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.fleet.LifeSigns;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * A start from an unpacked jar with an archive of loaded classes takes about half the processor time of one from the
 * jar that Maven packs. The archive belongs to the flags, so a training run and a start use the same ones. If it fails,
 * or the checkout cannot be written, fleets start from the packed jar.
 */
public final class Preparation {

    private static final int PACK_HEAP_MB = 512;
    private static final String DONE = "prepared";

    private final Installation installation;
    private final Programs programs;
    private final Progress progress;
    private final Duration patience;

    /** @param patience for a training run in which nothing moves */
    public Preparation(Installation installation, Programs programs, Progress progress, Duration patience) {
        this.installation = installation;
        this.programs = programs;
        this.progress = progress;
        this.patience = patience;
    }

    /** Whether it has been tried since the last build. */
    static boolean isDone(Service service, Installation installation) {
        return done(service, installation).toFile().lastModified() > service.jar(installation).toFile().lastModified();
    }

    public void ifNeeded() throws IOException {
        if (isDone(Service.ROUTER, installation) && isDone(Service.WORKER, installation)) {
            return;
        }
        try {
            for (Service service : Service.FLEET) {
                remove(service.folder(installation));
                Files.createDirectories(service.folder(installation));
            }
        } catch (FileSystemException e) {
            progress.say("a start takes longer than it could: it cannot be prepared, since " + e.getFile()
                    + " cannot be written");
            return;
        }
        prepare();
    }

    private void prepare() throws IOException {
        progress.begin("preparing a faster start (once per build)", () -> LifeSigns.lastMessage(log(Service.WORKER)));
        Map<Service, Process> unpacking = new EnumMap<>(Service.class);
        for (Service service : Service.FLEET) {
            unpacking.put(service, programs.begin(List.of(Jdk.tool("java"), "-Djarmode=tools", "-jar",
                    service.jar(installation).toString(), "extract", "--destination",
                    service.folder(installation).toString()), log(service), null));
        }
        unpacking.values().forEach(programs::await);
        Map<Service, Process> training = new EnumMap<>(Service.class);
        for (Service service : Service.FLEET) {
            training.put(service, train(service));
        }
        for (Map.Entry<Service, Process> run : training.entrySet()) {
            awaitTrained(run.getKey(), run.getValue());
        }
        for (Service service : Service.FLEET) {
            Path done = done(service, installation);
            Files.createDirectories(done.getParent());
            Files.writeString(done, "");
            Files.setLastModifiedTime(done, FileTime.from(Instant.now()));
        }
        progress.end();
    }

    /** Starts it on ports of its own; it belongs to no fleet, and has the model that ships. */
    private Process train(Service service) throws IOException {
        Map<String, String> environment = new HashMap<>(installation.environment());
        environment.keySet().removeIf(name -> name.startsWith("WARMPATH_"));
        List<String> command = new ArrayList<>(List.of(Jdk.tool("java")));
        command.addAll(service.flags());
        command.addAll(switch (service) {
            case ROUTER -> List.of("-Xmx" + PACK_HEAP_MB + "m");
            case WORKER -> List.of("-Xmx1g",
                    "-Dwarmpath.model.directory=" + installation.home().resolve("models/warmpath-tiny"),
                    "-Dwarmpath.worker.id=training", "-Dwarmpath.worker.base-url=http://127.0.0.1:1",
                    "-Dwarmpath.compute.backend=vector");
            case PLANNER -> throw notOfFleets(service);
        });
        command.addAll(List.of("-XX:ArchiveClassesAtExit=" + service.archive(installation), "-jar",
                service.unpackedJar(installation).toString(), "--server.port=0", "--management.server.port=0"));
        return programs.with(environment).begin(command, log(service), null);
    }

    /** Until it logs that it is up; it is ended then, and its JVM writes the archive. */
    private void awaitTrained(Service service, Process run) {
        String up = switch (service) {
            case ROUTER -> "Started RouterApplication";
            case WORKER -> "warmed up";
            case PLANNER -> throw notOfFleets(service);
        };
        var signs = new LifeSigns(patience, System.nanoTime());
        programs.until(() -> !run.isAlive() || LifeSigns.hasSaid(log(service), up)
                || signs.stalls(LifeSigns.of(run.pid(), log(service)), System.nanoTime()));
        run.destroy();
        programs.await(run);
    }

    private static IllegalArgumentException notOfFleets(Service service) {
        return new IllegalArgumentException(service + " serves nothing, and is not started for fleets");
    }

    private Path log(Service service) {
        return installation.logs().resolve("prepare-" + service.module() + ".log");
    }

    private static Path done(Service service, Installation installation) {
        return service.folder(installation).resolve(DONE);
    }

    private static void remove(Path folder) throws IOException {
        if (Files.exists(folder)) {
            Files.deleteIfExists(folder.resolve(DONE));            // first: what is half removed is not done
            try (Stream<Path> files = Files.walk(folder)) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(file);
                }
            }
        }
    }
}
