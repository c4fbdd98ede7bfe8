package dev.warmpath.cli.doctor;

import com.sun.management.OperatingSystemMXBean;
import dev.warmpath.cli.build.Build;
import dev.warmpath.cli.build.Jdk;
import dev.warmpath.cli.build.Programs;
import dev.warmpath.cli.build.Service;
import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.FleetFile;
import dev.warmpath.cli.fleet.FleetMember;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.start.KnownSettings;
import dev.warmpath.cli.start.Ports;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Looks at what is there before a fleet starts. */
public final class MachineDoctor {

    private static final long MB = 1 << 20;
    private static final int KIB_PER_MB = 1024;
    /** Of a router and one worker with the model that ships. */
    private static final long LEAST_FREE_MB = 2200;
    private static final long LEAST_DISK_MB = 1024;

    private final Installation installation;
    private final Programs programs;
    private final Consumer<Finding> findings;

    public MachineDoctor(Installation installation, Programs programs, Consumer<Finding> findings) {
        this.installation = installation;
        this.programs = programs;
        this.findings = findings;
    }

    /** @param firstPort of the fleet that is or would be there */
    public void look(@Nullable FleetFile fleet, int firstPort) throws IOException {
        java();
        maven();
        built();
        settings();
        state();
        ports(fleet, firstPort);
        memory(fleet);
    }

    private void java() {
        Path home = Jdk.home();
        String named = installation.variable("JAVA_HOME");
        String from = home.startsWith(installation.state()) ? "fetched by ./warmpath"
                : !named.isEmpty() && isSame(home, Path.of(named)) ? "named by JAVA_HOME" : "found on this machine";
        findings.accept(Finding.ok("Java " + Runtime.version() + " in " + home + ", " + from));
    }

    private static boolean isSame(Path a, Path b) {
        try {
            return Files.isSameFile(a, b);
        } catch (IOException e) {
            return false;
        }
    }

    private void maven() {
        String installed = programs.installed("mvn");
        findings.accept(Finding.ok(installed != null ? "Maven is " + installed
                : "no mvn is on the PATH: Maven is fetched by ./mvnw when something has to be built"));
    }

    private void built() throws IOException {
        for (Service service : Service.FLEET) {
            Path jar = service.jar(installation);
            if (!Files.exists(jar)) {
                findings.accept(Finding.warning(service.module() + " is not built: the next ./warmpath up does that "
                        + "first"));
            } else if (!Build.isFresh(service, installation)) {
                findings.accept(Finding.warning(service.module() + " is older than its sources: the next ./warmpath up "
                        + "builds it anew"));
            } else {
                findings.accept(Finding.ok(service.module() + " is built and newer than its sources"));
            }
        }
    }

    private void settings() throws IOException {
        var known = KnownSettings.of(installation);
        List<String> unknown = new TreeSet<>(installation.environment().keySet()).stream()
                .filter(name -> name.startsWith("WARMPATH_") && known.isUnknown(name)).toList();
        unknown.forEach(name -> findings.accept(Finding.missing(name + " stands for no setting, and processes refuse "
                + "to start with it: unset it, or take its name from docs/settings.md")));
        if (unknown.isEmpty()) {
            findings.accept(Finding.ok("each WARMPATH_ variable that is set is known"));
        }
    }

    private void state() throws IOException {
        try {
            installation.makeFolders();
        } catch (CommandException e) {
            findings.accept(Finding.missing(e.getMessage()));
            return;
        }
        long free = Files.getFileStore(installation.state()).getUsableSpace() / MB;
        String where = installation.state() + " is writable, with " + free + " MB free";
        findings.accept(free < LEAST_DISK_MB ? Finding.warning(where + ": logs and class archives take up to "
                + LEAST_DISK_MB + " MB") : Finding.ok(where));
    }

    private void ports(@Nullable FleetFile fleet, int first) {
        if (fleet != null && fleet.members().stream().anyMatch(FleetMember::isRunning)) {
            findings.accept(Finding.ok("the ports from " + first + " are this fleet's"));
            return;
        }
        List<Integer> taken = new ArrayList<>();
        for (int port : List.of(first, first + 1, first + 2)) {
            Stream.of(port, port + FleetMember.MANAGEMENT_OFFSET).filter(each -> Ports.isListening("127.0.0.1", each))
                    .forEach(taken::add);
        }
        findings.accept(taken.isEmpty()
                ? Finding.ok("ports " + first + " to " + (first + 2) + ", and those 1000 above, are free")
                : Finding.missing("somebody else listens on " + taken + ": end that, or choose another range with "
                        + "--port"));
    }

    /** What the container may use counts as the machine's. */
    private void memory(@Nullable FleetFile fleet) {
        var system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        long total = system.getTotalMemorySize() / MB;
        long free = Math.min(availableMegabytes(system), total);
        String sentence = free + " MB of " + total + " MB memory are free";
        boolean isRunning = fleet != null && fleet.members().stream().anyMatch(FleetMember::isRunning);
        findings.accept(isRunning || free >= LEAST_FREE_MB ? Finding.ok(sentence)
                : Finding.warning(sentence + "; a router and a worker with the model that ships want "
                        + "" + LEAST_FREE_MB));
    }

    /** Linux counts what caches of files can give back. */
    private static long availableMegabytes(OperatingSystemMXBean system) {
        try (Stream<String> lines = Files.lines(Path.of("/proc/meminfo"))) {
            return lines.filter(line -> line.startsWith("MemAvailable:"))
                    .map(line -> Long.parseLong(line.replaceAll("\\D", "")) / KIB_PER_MB).findFirst()
                    .orElseGet(() -> system.getFreeMemorySize() / MB);
        } catch (IOException e) {
            return system.getFreeMemorySize() / MB;
        }
    }
}
