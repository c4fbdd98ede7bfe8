package dev.warmpath.cli.start;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.warmpath.cli.build.Programs;
import dev.warmpath.cli.build.Progress;
import dev.warmpath.cli.build.Service;
import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.fleet.LogTail;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Has the programs of router and worker look at model, settings and memory before anything is started, which takes a
 * second or two. They say what is wrong, or else how many workers there are to be, and what with.
 */
final class Preflight {

    private static final int HEAP_MB = 512;
    private static final int LAST_LINES = 25;
    private static final int A_PROBLEM = 1;
    private static final String PROBLEM = "- ";
    private static final String WARNING = "warning: ";

    private final Installation installation;
    private final Programs programs;
    private final Progress progress;
    private final Wishes wishes;
    private final Path model;

    /**
     * What workers that compute are started with.
     *
     * @param heap   as {@code -Xmx} has it
     * @param young  as {@code -XX:MaxNewSize}
     * @param direct as {@code -XX:MaxDirectMemorySize}
     * @param share  whether they are to have packed weights in common
     */
    record Outlook(int workers, String heap, String young, String direct, String context, String kvMemory,
            String summary, boolean share) {}

    /** @param programs with the environment of the fleet's processes */
    Preflight(Installation installation, Programs programs, Progress progress, Wishes wishes, Path model) {
        this.installation = installation;
        this.programs = programs;
        this.progress = progress;
        this.wishes = wishes;
        this.model = model;
    }

    /**
     * @param besideMegabytes what other processes of the fleet take of the machine's memory
     * @throws CommandException saying what keeps the model from being served
     */
    Outlook look(int besideMegabytes) throws IOException {
        Path made = installation.state().resolve("check-made");
        remove(made);
        Files.writeString(log("check"), "");
        Files.writeString(log("check-tokenizer"), "");
        Process tokenizer = Files.isDirectory(model) ? beginTokenizer(model) : null;
        int status = wishes.workers() == null || wishes.workers() > 0 ? workers(besideMegabytes, made) : 0;
        int tokenizerStatus = tokenizer == null ? 0 : programs.await(tokenizer);
        if (Files.isDirectory(made)) {                             // whatever lies beside a GGUF file
            tokenizerStatus = programs.await(beginTokenizer(made));
            remove(made);
        }
        List<String> said = Stream.concat(lines("check"), lines("check-tokenizer")).toList();
        said.stream().filter(line -> line.startsWith(WARNING)).forEach(progress::say);
        requireFine(status, "check", "the check of the model",
                said.stream().filter(line -> line.startsWith(PROBLEM)).toList());
        if (tokenizerStatus > A_PROBLEM) {
            throw failed("check-tokenizer", "the check of the model's tokenizer");
        }
        return outlook(said);
    }

    private void requireFine(int status, String name, String check, List<String> problems) {
        if (status == 0 && problems.isEmpty()) {
            return;
        }
        if (status > A_PROBLEM || problems.isEmpty()) {
            throw failed(name, check);
        }
        throw new CommandException(problems.size() == 1 ? problems.getFirst().substring(PROBLEM.length())
                : problems.size() + " things keep " + model + " from being served:\n" + String.join("\n", problems));
    }

    private CommandException failed(String name, String check) {
        Path errors = installation.logs().resolve(name + ".err");
        progress.end();
        LogTail.lines(errors, LAST_LINES).forEach(System.err::println);
        return new CommandException(check + " failed; what it says is in " + errors);
    }

    private Outlook outlook(List<String> said) {
        Map<String, String> found = new HashMap<>();
        for (String line : said) {
            int equals = line.indexOf('=');
            if (equals > 0 && !line.startsWith(PROBLEM) && !line.startsWith(WARNING)) {
                found.put(line.substring(0, equals), line.substring(equals + 1));
            }
        }
        int workers = found.containsKey("workers") ? Integer.parseInt(found.get("workers"))
                : wishes.workers() == null ? 0 : wishes.workers();
        return new Outlook(workers, found.getOrDefault("heap", wishes.heap()),
                found.getOrDefault("young", ""), found.getOrDefault("direct", ""), found.getOrDefault("context", ""),
                found.getOrDefault("kv-memory", wishes.kvMemory()), found.getOrDefault("summary", ""),
                !found.getOrDefault("share", "").isEmpty());
    }

    private int workers(int besideMegabytes, Path made) throws IOException {
        List<String> arguments = new ArrayList<>(List.of("--warmpath.model.directory=" + model,
                "--warmpath.compute.backend=" + wishes.backend(),
                "--warmpath.model.shared-weights=" + installation.sharedWeights()));
        addIfAny(arguments, "--warmpath.model.quantization=", wishes.quantization());
        addIfAny(arguments, "--warmpath.model.context-length=", wishes.context());
        addIfAny(arguments, "--warmpath.kv.memory=", wishes.kvMemory());
        List<String> command = new ArrayList<>(
                List.of("check", "--beside", besideMegabytes + "MB", "--made", made.toString()));
        addOption(command, "--workers", wishes.workers() == null ? "" : wishes.workers().toString());
        addOption(command, "--machine", wishes.memory());
        addOption(command, "--heap", wishes.heap());
        command.addAll(Setting.applied(wishes.settings(), Service.WORKER, arguments));
        List<String> flags = new ArrayList<>(Service.WORKER.flags());
        flags.add("-Xmx" + HEAP_MB + "m");
        return programs.await(programs.begin(Service.WORKER.command(installation, flags, command), log("check"),
                installation.logs().resolve("check.err")));
    }

    /** Starts a look at the model's files of text, which lie there. */
    private Process beginTokenizer(Path folder) throws IOException {
        List<String> flags = new ArrayList<>(Service.ROUTER.flags());
        flags.add("-Xmx" + HEAP_MB + "m");
        return programs.begin(Service.ROUTER.command(installation, flags,
                        List.of("check", folder.toString(), model.toString())), log("check-tokenizer"),
                installation.logs().resolve("check-tokenizer.err"));
    }

    /** Names of files are in it, which need not be text. */
    private Stream<String> lines(String name) throws IOException {
        return new String(Files.readAllBytes(log(name)), UTF_8).lines();
    }

    private Path log(String name) {
        return installation.log(name);
    }

    static void addIfAny(List<String> arguments, String beginning, @Nullable String value) {
        if (value != null && !value.isEmpty()) {
            arguments.add(beginning + value);
        }
    }

    private static void addOption(List<String> command, String option, String value) {
        if (!value.isEmpty()) {
            command.addAll(List.of(option, value));
        }
    }

    private static void remove(Path folder) throws IOException {
        if (Files.exists(folder)) {
            try (Stream<Path> files = Files.walk(folder)) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(file);
                }
            }
        }
    }
}
