package dev.warmpath.cli;

import dev.warmpath.cli.build.Jdk;
import dev.warmpath.cli.build.Programs;
import dev.warmpath.cli.build.Profiler;
import dev.warmpath.cli.build.Progress;
import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.FleetFile;
import dev.warmpath.cli.fleet.FleetMember;
import dev.warmpath.cli.fleet.Role;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tools.jackson.databind.json.JsonMapper;

/** {@code profile}: has async-profiler look at a running process. */
@Command(name = "profile", description = "A flame graph of a running router or worker, as an HTML page, and where it "
        + "lies.")
final class ProfileCommand implements Callable<Integer> {

    private static final int LONGEST_SECONDS = 3600;
    /** It ends by itself after so much more, should nobody be there to end it. */
    private static final int SPARE_SECONDS = 120;

    private final Call call;

    @Spec
    CommandSpec spec;

    @Parameters(arity = "0..1", paramLabel = "ID", description = "Which process, such as worker-1.")
    String id = "";

    @Option(names = "--seconds", paramLabel = "N", description = "How long to look at it, 1 to 3600 (default: "
            + "${DEFAULT-VALUE}).")
    String seconds = "30";

    @Option(names = "--kind", paramLabel = "KIND", description = "cpu: what it computes; wall: where time passes, "
            + "waiting included, thread by thread; alloc: who allocates on the heap; lock: who waits for a lock "
            + "(default: ${DEFAULT-VALUE}).")
    String kind = "cpu";

    @Option(names = "--json", description = "As JSON: the page.")
    boolean isJson;

    ProfileCommand(Call call) {
        this.call = call;
    }

    @Override
    public Integer call() throws IOException {
        int duration;
        String options;
        try {
            require(!id.isEmpty(), "profile takes the id of a process, such as worker-1; ./warmpath status lists them");
            duration = Call.number("--seconds", seconds, 1, LONGEST_SECONDS);
            require(List.of("cpu", "wall", "alloc", "lock").contains(kind),
                    "--kind takes cpu, wall, alloc or lock, not '" + kind + "'");
            options = kind.equals("wall") ? "event=wall,threads" : "event=" + kind;
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), e.getMessage());
        }
        FleetMember member = member();
        call.installation().makeFolders();
        Path pages = Files.createDirectories(call.installation().state().resolve("profiles"));
        Path page = pages.resolve(id + "-" + kind + "-"
                + DateTimeFormatter.ofPattern("yyyyMMdd-HHmmss").format(LocalDateTime.now()) + ".html");
        try (var progress = isJson ? Progress.aside() : Progress.here()) {
            Path library = Profiler.library(call.installation(), call.programs(), progress);
            look(member, library, options, duration, page, progress);
        }
        spec.commandLine().getOut().println(isJson
                ? JsonMapper.builder().build().writeValueAsString(Map.of("page", page.toString())) : page.toString());
        return 0;
    }

    private void look(FleetMember member, Path library, String options, int duration, Path page, Progress progress)
            throws IOException {
        if (!tell(member, library, "start," + options + ",timeout=" + (duration + SPARE_SECONDS))) {
            throw new CommandException("the profiler does not start in " + id + "; what it says is in "
                    + call.installation().log(id));
        }
        Runnable stop = () -> tellLast(member, library);
        call.ending().add(stop);
        progress.begin("looking at " + id + " for " + duration + " s", () -> "");
        long endNanos = System.nanoTime() + duration * 1_000_000_000L;
        call.programs().until(() -> System.nanoTime() - endNanos >= 0 || !member.isRunning());
        progress.end();
        call.ending().remove(stop);
        if (!tell(member, library, "stop,flamegraph,title=" + id + " " + kind + ",file=" + page)
                || !Files.exists(page) || Files.size(page) == 0) {
            throw new CommandException("no flame graph was written; what the profiler says is in "
                    + call.installation().log(id));
        }
    }

    private FleetMember member() {
        FleetFile fleet = FleetFile.require(call.installation().state());
        FleetMember member = fleet.member(id);
        if (member == null || member.role() == Role.REDIS || !member.isRunning()) {
            throw new CommandException("no router or worker '" + id + "' is running; ./warmpath status lists them");
        }
        return member;
    }

    /** To the library in the process, which is loaded at the first time. */
    private boolean tell(FleetMember member, Path library, String options) throws IOException {
        Programs programs = call.programs();
        String said = programs.capture(command(member, library, options));
        return said != null && said.contains("return code: 0");
    }

    private static void tellLast(FleetMember member, Path library) {
        try {
            new ProcessBuilder(command(member, library, "stop")).start().waitFor();
        } catch (IOException e) {
            // it ends by itself, later
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static List<String> command(FleetMember member, Path library, String options) {
        return List.of(Jdk.tool("jcmd"), Long.toString(member.pid()), "JVMTI.agent_load", "\"" + library + "\"",
                "\"" + options + "\"");
    }

    private static void require(boolean isSo, String sentence) {
        if (!isSo) {
            throw new IllegalArgumentException(sentence);
        }
    }
}
