package dev.warmpath.planner.command;

import dev.warmpath.planner.cost.CostException;
import dev.warmpath.planner.cost.CostModel;
import dev.warmpath.planner.load.DrawnLoad;
import dev.warmpath.planner.load.Load;
import dev.warmpath.planner.load.Survey;
import dev.warmpath.planner.load.TraceLoad;
import dev.warmpath.planner.output.JsonText;
import dev.warmpath.planner.output.Progress;
import dev.warmpath.planner.output.Provenance;
import dev.warmpath.planner.simulation.ServiceModel;
import dev.warmpath.planner.study.CacheSize;
import dev.warmpath.planner.study.Cell;
import dev.warmpath.planner.study.Row;
import dev.warmpath.planner.study.Study;
import dev.warmpath.planner.study.StudyPage;
import dev.warmpath.planner.study.StudyView;
import dev.warmpath.planner.study.StudyView.BoundsView;
import dev.warmpath.workload.GeneratedLoad;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code plan simulate}: a load on fleets of several sizes, under several policies. */
@Command(name = "simulate", description = {"A trace on simulated fleets: hits, times and load by policy and size.",
        "The router's and the worker's own classes run under a simulated clock; only a step's time is a model. Lists"
                + " are separated by commas: every combination is simulated. Ctrl-C ends it, and prints what there is"
                + " so far."})
final class SimulateCommand implements Callable<Integer> {

    private static final int MOST_WORKERS = 10_000;
    private static final int MOST_ROUTERS = 100;
    private static final int MOST_CELLS = 1_000;
    private static final int MOST_COPIES = 1_000;
    private static final int USUAL_SESSIONS = 2_000;
    /** About what a batch of events takes from a worker to a router's index, as measured within one cluster. */
    private static final long EVENT_DELAY_MICROS = 5_000;

    @Spec
    CommandSpec spec = CommandSpec.create();

    @Parameters(arity = "0..1", paramLabel = "TRACE",
            description = "A file of requests: Mooncake's format, prompts or token ids as JSON lines, or a router's"
                    + " log of requests; .gz is unpacked.")
    @Nullable Path trace;

    @Option(names = "--load", paramLabel = "NAME", completionCandidates = LoadNames.class,
            description = "A generated load in place of a trace: ${COMPLETION-CANDIDATES}.")
    @Nullable String load;

    @Option(names = "--sessions", paramLabel = "N", defaultValue = "" + USUAL_SESSIONS,
            description = "Of a generated load: how many (default: ${DEFAULT-VALUE}).")
    int sessions = USUAL_SESSIONS;

    @Option(names = "--copies", paramLabel = "N", defaultValue = "1",
            description = "Lay the trace so many times over itself, each copy shifted and with prompts of its own: more"
                    + " clients of the same habits (default: ${DEFAULT-VALUE}).")
    int copies = 1;

    @Option(names = "--speed", paramLabel = "S", defaultValue = "1",
            description = "Requests come S times as quickly as the trace has them (default: ${DEFAULT-VALUE}).")
    double speed = 1;

    @Option(names = "--workers", paramLabel = "N[,N]", split = ",", defaultValue = "4",
            description = "Workers of the fleet (default: ${DEFAULT-VALUE}).")
    List<Integer> workers = new ArrayList<>();

    @Option(names = "--routers", paramLabel = "N[,N]", split = ",", defaultValue = "1",
            description = "Routers, each of which gets its part by chance (default: ${DEFAULT-VALUE}).")
    List<Integer> routers = new ArrayList<>();

    @Option(names = "--cache", paramLabel = "SIZE[,SIZE]", split = ",", defaultValue = "400k",
            description = "Each worker's cache in tokens, such as 400k, or all caches together as a part of the load's"
                    + " different blocks, such as 10%%, or off: no prefix is reused (default: ${DEFAULT-VALUE}, what"
                    + " a model of 70 billion parameters leaves free on four cards of 80 GB).")
    List<String> caches = new ArrayList<>();

    @Option(names = "--policy", paramLabel = "NAME[,NAME]", split = ",", completionCandidates = PolicyNames.class,
            defaultValue = "default,round-robin,least-requests,lmetric",
            description = "${COMPLETION-CANDIDATES}, or all (default: ${DEFAULT-VALUE}); docs/policies.md.")
    List<String> policies = new ArrayList<>();

    @Option(names = "--cost", paramLabel = "NAME|FILE", defaultValue = "large-on-four-cards",
            description = "What a step takes: large-on-four-cards, tiny-on-a-processor, or a file that plan calibrate"
                    + " has written (default: ${DEFAULT-VALUE}).")
    String cost = "large-on-four-cards";

    @Option(names = "--max-sequences", paramLabel = "N", defaultValue = "256",
            description = "Requests that a worker computes side by side (default: ${DEFAULT-VALUE}).")
    int maxSequences = 256;

    @Option(names = "--max-batched-tokens", paramLabel = "N", defaultValue = "8192",
            description = "Tokens of a step (default: ${DEFAULT-VALUE}).")
    int maxBatchedTokens = 8_192;

    @Mixin
    TraceOptions options = new TraceOptions();

    @Option(names = "--json", description = "The result as JSON.")
    boolean json;

    @Option(names = "--html", paramLabel = "FILE", description = "The result as a page with plots, too, in one file.")
    @Nullable Path html;

    static final class LoadNames implements Iterable<String> {

        @Override
        public Iterator<String> iterator() {
            return GeneratedLoad.named().keySet().iterator();
        }
    }

    @Override
    public Integer call() throws IOException, InterruptedException {
        check();
        ServiceModel service = service();
        List<Cell> cells = cells();
        try (Progress progress = Progress.standard()) {
            Load source = source();
            Survey survey = Survey.of(source, share -> progress.tell("reading " + source.name(), share));
            if (survey.uses() == null && cells.stream().anyMatch(cell -> cell.cache() instanceof CacheSize.Share)) {
                throw wrong("the load has too many blocks to tell a part of them: give --cache in tokens");
            }
            var study = new Study(source, survey,
                    new Study.Machine(service, maxSequences, maxBatchedTokens, EVENT_DELAY_MICROS, options.seed));
            for (Cell cell : cells) {
                if (study.blocks(cell) * cell.workers() > Study.MOST_BLOCKS) {
                    throw wrong(cell.workers() + " workers with a cache of " + cell.cache().text()
                            + " are too large to be simulated: " + Study.MOST_BLOCKS + " blocks at most, and the load"
                            + " uses no more than " + survey.allBlocks());
                }
            }
            List<BoundsView> bounds = study.bounds(cells);
            Provenance provenance = Provenance.of(options.seed, List.of(source.input(survey.requests())));
            Map<Cell, Row> rows = new ConcurrentHashMap<>();
            try (var telling = new Telling<>(progress, interrupted -> StudyView.of(provenance, interrupted,
                    source.name(), survey, service, bounds, cells.stream().filter(rows::containsKey).map(rows::get)
                    .toList()), this::show)) {
                study.run(cells, row -> rows.put(row.cell(), row), share ->
                        progress.tell(rows.size() + " of " + cells.size() + " simulations done,", share));
                telling.done();
            }
            return 0;
        }
    }

    private void show(StudyView view) {
        spec.commandLine().getOut().print(json ? JsonText.of(view) + '\n' : view.text());
        spec.commandLine().getOut().flush();
        if (html != null) {
            try {
                Files.writeString(html, StudyPage.of(view));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private void check() {
        options.settings(spec.commandLine());
        if ((trace == null) == (load == null)) {
            throw wrong(trace == null ? "name a TRACE, or a generated load by --load" : "a TRACE or --load, not both");
        }
        within("--copies", copies, 1, MOST_COPIES);
        within("--max-sequences", maxSequences, 1, 4_096);
        within("--max-batched-tokens", maxBatchedTokens, maxSequences, 1_000_000);
        within("--sessions", sessions, 1, Integer.MAX_VALUE);
        workers.forEach(each -> within("--workers", each, 1, MOST_WORKERS));
        routers.forEach(each -> within("--routers", each, 1, MOST_ROUTERS));
        if (!(speed >= 0.01 && speed <= 1e6)) {
            throw wrong("--speed is from 0.01 to a million, not " + speed);
        }
        if (load != null && (copies != 1 || speed != 1)) {
            throw wrong("--copies and --speed are for traces; a generated load has --rate");
        }
    }

    private void within(String option, long given, long least, long most) {
        if (given < least || given > most) {
            throw wrong(option + " takes a number from " + least + " to " + most + ", not " + given);
        }
    }

    private ServiceModel service() throws IOException {
        try {
            return CostModel.named(cost).service();
        } catch (CostException e) {
            throw wrong("--cost " + e.getMessage());
        }
    }

    private Load source() throws IOException {
        if (trace != null) {
            return new TraceLoad(trace, options.settings(spec.commandLine()), copies, speed);
        }
        GeneratedLoad generated = GeneratedLoad.named().get(String.valueOf(load).toLowerCase(Locale.ROOT));
        if (generated == null) {
            throw wrong("--load " + load + " is none of " + String.join(", ", GeneratedLoad.named().keySet()));
        }
        return new DrawnLoad(String.valueOf(load).toLowerCase(Locale.ROOT), generated, sessions, options.rate,
                options.seed);
    }

    private List<Cell> cells() {
        List<Cell> cells = new ArrayList<>();
        for (int workerCount : workers) {
            for (int routerCount : routers) {
                for (String cache : caches) {
                    PolicyNames.of(policies, spec.commandLine()).forEach(policy ->
                            cells.add(new Cell(workerCount, routerCount, cache(cache), policy)));
                }
            }
        }
        if (cells.size() > MOST_CELLS) {
            throw wrong(cells.size() + " combinations are too many: " + MOST_CELLS + " at most");
        }
        return cells.stream().distinct().toList();
    }

    private CacheSize cache(String text) {
        try {
            return CacheSize.of(text);
        } catch (IllegalArgumentException e) {
            throw wrong("--cache: " + e.getMessage());
        }
    }

    private ParameterException wrong(String sentence) {
        return new ParameterException(spec.commandLine(), sentence);
    }
}
