package dev.warmpath.cli;

import dev.warmpath.cli.build.Progress;
import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.FleetFile;
import dev.warmpath.cli.start.Engine;
import dev.warmpath.cli.start.FleetEnvironment;
import dev.warmpath.cli.start.FleetStart;
import dev.warmpath.cli.start.KnownSettings;
import dev.warmpath.cli.start.Setting;
import dev.warmpath.cli.start.StartFailedException;
import dev.warmpath.cli.start.Wishes;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code up}: starts a fleet. */
@Command(name = "up", description = "Start a router and its workers, and say when a request would be answered.",
        footer = {"", "Logs are in .warmpath/logs. WARMPATH_STATE chooses another folder than .warmpath for pids and "
                + "logs, so that several fleets can run side by side. WARMPATH_REDIS_URI does what --redis does, and "
                + "no list of processes shows it; WARMPATH_REDIS_CLUSTER=true makes it a Redis Cluster."})
final class UpCommand implements Callable<Integer> {

    private static final int LONGEST_CONTEXT = 100_000_000;

    private final Call call;

    @Spec
    CommandSpec spec;

    static final class Quantizations implements Iterable<String> {

        @Override
        public Iterator<String> iterator() {
            return List.of("none", "int8").iterator();
        }
    }

    static final class Backends implements Iterable<String> {

        @Override
        public Iterator<String> iterator() {
            return List.of("auto", "cuda", "vector", "scalar").iterator();
        }
    }

    @Option(names = "--model", paramLabel = "PATH", description = "A model: a folder in Hugging Face layout, such as "
            + "'hf download' leaves, or a GGUF file (default: models/warmpath-tiny).")
    String model = "";

    @Option(names = "--quantization", paramLabel = "none|int8", description = "int8: weights of 16 or 32 bits are "
            + "rounded to 8.5 bits while they are loaded: half the memory, and answers that differ a little (default: "
            + "none).", completionCandidates = Quantizations.class)
    String quantization = "";

    @Option(names = "--context", paramLabel = "N", description = "Most tokens of prompt and answer together (default: "
            + "the model's, or as many as there is memory for).")
    String context = "";

    @Option(names = "--workers", paramLabel = "N", description = "How many workers compute (default: 2, or 1 where two "
            + "do not fit; with --engine none).")
    String workers = "";

    @Option(names = "--engine", paramLabel = "KIND=URL", description = "A worker beside an engine that runs already, "
            + "and computes nothing itself: vllm=http://127.0.0.1:8000, sglang=..., or openai=... for any server with "
            + "OpenAI's API; again for more. --model is the folder from which the engine was started, for its "
            + "tokenizer and chat template; docs/engines.md.")
    List<String> engines = new ArrayList<>();

    @Option(names = "--routers", paramLabel = "N", description = "How many routers; each knows and uses all workers "
            + "(default: ${DEFAULT-VALUE}).")
    String routers = "1";

    @Option(names = "--redis", paramLabel = "URI", description = "Share the index by Redis: redis://host:6379, "
            + "rediss://..., redis-sentinel://...#master; 'embedded' starts a redis-server found on the PATH.")
    @Nullable String redis;

    @Option(names = "--port", paramLabel = "P", description = "The router's port; further routers take P+100, P+200 "
            + "..., workers P+1 ... P+N, an embedded Redis P+900, and routers and workers their own port + 1000 for "
            + "management (default: ${DEFAULT-VALUE}).")
    String port = "8080";

    @Option(names = "--host", paramLabel = "ADDR", description = "Address to listen on; anything but loopback makes a "
            + "fleet token (default: ${DEFAULT-VALUE}).")
    String host = "127.0.0.1";

    @Option(names = "--backend", paramLabel = "NAME", description = "What workers compute on: vector, the processors, "
            + "also where there is a GPU; scalar, slow loops; cuda, an NVIDIA GPU or no start; auto, a GPU if one can "
            + "be used (default: ${DEFAULT-VALUE}).", completionCandidates = Backends.class)
    String backend = "vector";

    @Option(names = "--memory", paramLabel = "SIZE", description = "What the fleet may take of this machine's memory, "
            + "such as 6GB (default: all, or what the container may); heaps and caches follow from it and from the "
            + "model.")
    String memory = "";

    @Option(names = "--kv-memory", paramLabel = "SIZE", description = "What each worker's KV cache may take, such as "
            + "512MB or 4GB (default: as there is room, for four conversations of the whole context or 128MB; on a GPU "
            + "all that is left).")
    String kvMemory = "";

    @Option(names = "--heap", paramLabel = "SIZE", description = "What the heap of each worker may grow to (default: "
            + "as model and cache want it).")
    String heap = "";

    @Option(names = "--set", paramLabel = "NAME=VALUE", description = "A setting of docs/settings.md, such as "
            + "warmpath.kv.block-size=32, for all processes that have it; with router: or worker: before it for these "
            + "only. Again for more.")
    List<String> settings = new ArrayList<>();

    @Option(names = "--start-timeout", paramLabel = "SECONDS", description = "A start goes on as long as something "
            + "moves, and is given up after so long without it (default: 120, or WARMPATH_STALL_SECONDS).")
    String startTimeout = "";

    @Option(names = "--detach", description = "Return when ready, and leave the fleet running.")
    boolean isDetached;

    @Option(names = "--json", description = "As JSON, with --detach: all processes, when they are ready. What is being "
            + "done goes to standard error.")
    boolean isJson;

    UpCommand(Call call) {
        this.call = call;
    }

    @Override
    public Integer call() throws IOException {
        if (isJson && !isDetached) {
            throw new ParameterException(spec.commandLine(), "--json needs --detach: it tells of a fleet that runs on");
        }
        Wishes wishes;
        try {
            wishes = wishes();
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), e.getMessage());
        }
        if (wishes.redis().equals(Wishes.EMBEDDED) && call.programs().installed("redis-server") == null) {
            throw new CommandException("--redis embedded needs a redis-server on the PATH: install Redis 6.2 or newer "
                    + "(apt install redis-server, dnf or brew install redis), or give the URI of one that runs");
        }
        try (var progress = isJson ? Progress.aside() : Progress.here()) {
            try {
                new FleetStart(call.installation(), call.ending(), progress, wishes).run();
                if (isJson) {
                    spec.commandLine().getOut().println(StatusCommand.json(
                            FleetFile.require(call.installation().state()), _ -> "ready"));
                }
                return 0;
            } catch (StartFailedException e) {
                progress.end();
                explain(e, spec);
                return Warmpath.FAILED;
            }
        }
    }

    /** What failed, and the last words of whose log tells more. */
    static void explain(StartFailedException failure, CommandSpec spec) {
        spec.commandLine().getErr().println("warmpath: " + failure.getMessage());
        failure.lastWords().forEach(spec.commandLine().getErr()::println);
    }

    private Wishes wishes() throws IOException {
        requireOne("--backend", backend, "auto", "cuda", "vector", "scalar");
        requireOne("--quantization", quantization, "", "none", "int8");
        if (!context.isEmpty()) {
            Call.number("--context", context, 2, LONGEST_CONTEXT);
        }
        var known = settings.isEmpty() ? null : KnownSettings.of(call.installation());
        Duration patience = startTimeout.isEmpty() ? call.stallTimeout()
                : Duration.ofSeconds(Call.number("--start-timeout", startTimeout, 1, Call.LONGEST_STALL_SECONDS));
        return new Wishes(workers.isEmpty() ? null : Call.number("--workers", workers, 1, Wishes.MAX_WORKERS),
                engines.stream().map(Engine::of).toList(), Call.number("--routers", routers, 1, Wishes.MAX_ROUTERS),
                redis != null ? redis : call.installation().variable(FleetEnvironment.REDIS_URI),
                Call.number("--port", port, 1, 65_535), model, host, backend, context, quantization, memory, kvMemory,
                heap, known == null ? List.of() : settings.stream().map(given -> Setting.of(given, known)).toList(),
                patience, isDetached);
    }

    private static void requireOne(String option, String given, String... allowed) {
        List<String> names = List.of(allowed);
        if (!names.contains(given)) {
            List<String> told = names.stream().filter(name -> !name.isEmpty()).toList();
            throw new IllegalArgumentException(option + " takes " + String.join(", ", told.subList(0, told.size() - 1))
                    + " or " + told.getLast() + ", not '" + given + "'");
        }
    }
}
