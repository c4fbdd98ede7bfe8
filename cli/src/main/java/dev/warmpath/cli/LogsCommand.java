package dev.warmpath.cli;

import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.FleetFile;
import dev.warmpath.cli.fleet.FleetMember;
import dev.warmpath.cli.fleet.LogTail;
import dev.warmpath.cli.fleet.Pause;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tools.jackson.databind.json.JsonMapper;

/** {@code logs}: what processes of the fleet have said. */
@Command(name = "logs", description = {"The last lines of a process's log, or of all processes'.",
        "Of all, each line has its process's id. They stay after the fleet has been stopped, until the next one "
                + "starts."})
final class LogsCommand implements Callable<Integer> {

    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int LOOK_AGAIN_MILLIS = 200;
    private static final int MOST_LINES = 100_000;
    /** Of a log in one look; the rest comes with the next. */
    private static final int MOST_BYTES = 1 << 20;
    private static final String PROCESSES = "(router|worker|redis)(-\\d+)?\\.log";

    private final Call call;
    private final Map<String, Long> read = new LinkedHashMap<>();

    @Spec
    CommandSpec spec;

    @Parameters(arity = "0..1", paramLabel = "ID", description = "Whose, such as worker-1 (default: all).")
    @Nullable String id;

    @Option(names = {"-f", "--follow"}, description = "Go on with what they say from now on, until Ctrl-C.")
    boolean isFollowing;

    @Option(names = {"-n", "--lines"}, paramLabel = "N", description = "How many of each (default: ${DEFAULT-VALUE}).")
    String lines = "50";

    @Option(names = "--json", description = "As JSON: an object per line, with the id of its process.")
    boolean isJson;

    LogsCommand(Call call) {
        this.call = call;
    }

    @Override
    public Integer call() throws IOException {
        int count;
        try {
            count = Call.number("--lines", lines, 0, MOST_LINES);
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), e.getMessage());
        }
        for (String each : ids()) {
            Path log = call.installation().log(each);
            read.put(each, Files.exists(log) ? Files.size(log) : 0);
            LogTail.lines(log, count).forEach(line -> say(each, line));
        }
        while (isFollowing && !spec.commandLine().getOut().checkError()) {             // until nobody reads them
            for (String each : read.keySet()) {
                follow(each);
            }
            Pause.millis(LOOK_AGAIN_MILLIS);
        }
        return 0;
    }

    private List<String> ids() throws IOException {
        FleetFile fleet = FleetFile.read(call.installation().state());
        List<String> all = fleet != null ? fleet.members().stream().map(FleetMember::id).toList() : left();
        if (all.isEmpty()) {
            throw new CommandException("there are no logs in " + call.installation().logs() + ": no fleet has been "
                    + "started");
        }
        if (id != null && !all.contains(id)) {
            throw new CommandException("no process '" + id + "' in this fleet; there are " + String.join(", ", all));
        }
        return id == null ? all : List.of(id);
    }

    /** Of a fleet that has been stopped. */
    private List<String> left() throws IOException {
        if (!Files.isDirectory(call.installation().logs())) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(call.installation().logs())) {
            return files.map(file -> file.getFileName().toString()).filter(name -> name.matches(PROCESSES))
                    .map(name -> name.substring(0, name.length() - ".log".length())).sorted().toList();
        }
    }

    /** Whole lines only. A log that has become shorter is that of a new process. */
    private void follow(String process) throws IOException {
        Path log = call.installation().log(process);
        if (!Files.exists(log)) {
            return;
        }
        long from = Files.size(log) < read.getOrDefault(process, 0L) ? 0 : read.getOrDefault(process, 0L);
        try (var file = new RandomAccessFile(log.toFile(), "r")) {
            file.seek(from);
            byte[] bytes = new byte[(int) Math.min(MOST_BYTES, file.length() - from)];
            file.readFully(bytes);
            int end = bytes.length;
            while (end > 0 && bytes[end - 1] != '\n' && bytes.length < MOST_BYTES) {
                end--;
            }
            new String(bytes, 0, end, StandardCharsets.UTF_8).lines().forEach(line -> say(process, line));
            read.put(process, from + end);
        }
    }

    private record Line(String id, String line) {}

    private void say(String process, String line) {
        PrintWriter out = spec.commandLine().getOut();
        out.println(isJson ? JSON.writeValueAsString(new Line(process, line))
                : id == null ? String.format("%-9s | %s", process, line) : line);
        out.flush();
    }
}
