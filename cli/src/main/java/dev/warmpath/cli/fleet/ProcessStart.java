package dev.warmpath.cli.fleet;

import dev.warmpath.cli.fleet.Launches.Launch;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Starts processes that outlive this one. A terminal's Ctrl-C goes to all that were started from it, and the fleet is
 * to be stopped in order: so each process is started by a shell that ignores that signal and the terminal's end, which
 * a JVM keeps to, and in a session of its own where there is {@code setsid}, since Redis does not.
 */
public final class ProcessStart {

    private static final List<String> IGNORING_TERMINAL = List.of("/bin/sh", "-c", "trap '' INT HUP; exec "
            + "\"$@\"", "sh");
    private static final List<String> SETSID = List.of("setsid");

    private final Installation installation;
    private final Launches launches;

    /** @param launches how each is started */
    public ProcessStart(Installation installation, Launches launches) {
        this.installation = installation;
        this.launches = launches;
    }

    /** Starts a process of a fleet, and adds it to the fleet file. */
    public void begin(Launch launch) throws IOException {
        FleetFile.add(installation.state(), start(launch));
    }

    /** Starts one of the fleet's once more; the fleet file has it instead of the one before. */
    public FleetMember again(Launch launch) throws IOException {
        FleetMember member = start(launch);
        FleetFile.replace(installation.state(), member);
        return member;
    }

    /** The same command, on which a terminal's Ctrl-C and its end have no effect; its pid is that of the program. */
    public static List<String> ignoringTerminal(List<String> command) {
        return Stream.concat(IGNORING_TERMINAL.stream(), command.stream()).toList();
    }

    private FleetMember start(Launch launch) throws IOException {
        List<String> command = new ArrayList<>(isInstalled("setsid") ? SETSID : List.of());
        command.addAll(ignoringTerminal(launch.command()));
        var builder = new ProcessBuilder(command).directory(new File(launches.folder())).redirectErrorStream(true)
                .redirectInput(new File("/dev/null")).redirectOutput(installation.log(launch.id()).toFile());
        Environments.make(builder, launches.environment());
        long pid = builder.start().pid();
        return new FleetMember(launch.role(), launch.id(), pid, ProcessTable.startedAt(pid), launch.port(),
                launch.url());
    }

    private boolean isInstalled(String program) {
        for (String folder : installation.variable("PATH").split(File.pathSeparator)) {
            if (Files.isExecutable(Path.of(folder, program))) {
                return true;
            }
        }
        return false;
    }
}
