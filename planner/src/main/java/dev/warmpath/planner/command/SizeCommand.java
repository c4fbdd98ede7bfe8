package dev.warmpath.planner.command;

import dev.warmpath.capacity.BlockPool;
import dev.warmpath.planner.cost.CostException;
import dev.warmpath.planner.cost.CostModel;
import dev.warmpath.planner.cost.Gpu;
import dev.warmpath.planner.cost.Models;
import dev.warmpath.planner.cost.Roofline;
import dev.warmpath.planner.load.DrawnLoad;
import dev.warmpath.planner.load.Load;
import dev.warmpath.planner.load.Survey;
import dev.warmpath.planner.load.TraceLoad;
import dev.warmpath.planner.output.JsonText;
import dev.warmpath.planner.output.Progress;
import dev.warmpath.planner.output.Provenance;
import dev.warmpath.planner.simulation.Policies;
import dev.warmpath.planner.study.CacheSize;
import dev.warmpath.planner.study.Cell;
import dev.warmpath.planner.study.Objectives;
import dev.warmpath.planner.study.Row;
import dev.warmpath.planner.study.Sizing;
import dev.warmpath.planner.study.Study;
import dev.warmpath.router.routing.PolicyName;
import dev.warmpath.workload.GeneratedLoad;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code plan size}: how many workers of these cards a load needs. */
@Command(name = "size", description = {"The fewest workers whose simulated run keeps what is promised.",
        "Costs are reckoned from data sheets, or come from --cost; 0.9 of the cards' memory less weights and 2 GB a"
                + " card of workspace holds blocks."})
final class SizeCommand implements Callable<Integer> {

    private static final int MOST_WORKERS = 1_024;
    private static final int MOST_CARDS = 64;
    private static final int USUAL_SESSIONS = 2_000;
    private static final int MAX_SEQUENCES = 256;
    private static final int MAX_BATCHED_TOKENS = 8_192;
    private static final long EVENT_DELAY_MICROS = 5_000;

    @Spec
    CommandSpec spec = CommandSpec.create();

    @Option(names = "--model", required = true, paramLabel = "NAME|PATH",
            description = "A name such as llama-3.1-8b, or a config.json or its folder.")
    String model = "";

    @Option(names = "--gpu", required = true, paramLabel = "NAME", description = "A card such as h100-sxm or l4.")
    String gpu = "";

    @Option(names = "--gpus-per-worker", paramLabel = "N", defaultValue = "1",
            description = "Cards that share the model (default: ${DEFAULT-VALUE}).")
    int cards = 1;

    @Option(names = "--slo", required = true, paramLabel = "BOUND[,BOUND]",
            description = "Times to first token and between tokens, such as ttft-p90=2s,itl-mean=50ms.")
    String slo = "";

    @Option(names = "--trace", paramLabel = "FILE", description = "The load: a file of requests.")
    @Nullable Path trace;

    @Option(names = "--load", paramLabel = "NAME", description = "The load: a generated one, at --rate.")
    @Nullable String load;

    @Option(names = "--sessions", paramLabel = "N", defaultValue = "" + USUAL_SESSIONS,
            description = "Of a generated load: how many (default: ${DEFAULT-VALUE}).")
    int sessions = USUAL_SESSIONS;

    @Option(names = "--policy", paramLabel = "NAME", defaultValue = "default",
            description = "Of the router (default: ${DEFAULT-VALUE}).")
    String policy = "default";

    @Option(names = "--headroom", paramLabel = "SHARE", defaultValue = "0.1",
            description = "Part of each bound that stays free (default: ${DEFAULT-VALUE}).")
    double headroom = 0.1;

    @Option(names = "--cost", paramLabel = "NAME|FILE",
            description = "Measured costs of a worker in place of data sheets, see plan calibrate.")
    @Nullable String cost;

    @Option(names = "--flops-efficiency", paramLabel = "SHARE", defaultValue = "0.5",
            description = "Of the sheet's operations that is reached, an assumption (default: ${DEFAULT-VALUE}).")
    double flopsEfficiency = Roofline.USUAL_FLOPS_EFFICIENCY;

    @Option(names = "--bandwidth-efficiency", paramLabel = "SHARE", defaultValue = "0.7",
            description = "Likewise of its bandwidth (default: ${DEFAULT-VALUE}).")
    double bandwidthEfficiency = Roofline.USUAL_BANDWIDTH_EFFICIENCY;

    @Mixin
    TraceOptions options = new TraceOptions();

    @Option(names = "--json", description = "The result as JSON.")
    boolean json;

    @Override
    public Integer call() throws IOException, InterruptedException {
        check();
        Objectives objectives = objectives();
        PolicyName routing = routing();
        Roofline roofline = roofline();
        CostModel costs = cost == null ? roofline.cost() : named(cost);
        Load source = source();
        try (Progress progress = Progress.standard()) {
            Survey survey = Survey.of(source, share -> progress.tell("reading " + source.name(), share));
            BlockPool pool = roofline.pool(survey.blockTokens());
            refuseWhatDoesNotFit(roofline, survey, pool);
            var study = new Study(source, survey, new Study.Machine(costs.service(), MAX_SEQUENCES, MAX_BATCHED_TOKENS,
                    EVENT_DELAY_MICROS, options.seed));
            Sizing chosen = sizing(study, pool, routing, objectives, progress);
            Sizing shared = sizing(study, pool, PolicyName.ROUND_ROBIN, objectives, progress);
            Integer fewest = chosen.fewest();
            List<Row> rows = new ArrayList<>();
            for (int workers : fewest == null ? new int[] {MOST_WORKERS} : new int[] {fewest - 1, fewest, fewest + 1}) {
                if (workers > 0) {
                    rows.add(chosen.run(workers));
                }
            }
            show(SizeView.of(Provenance.of(options.seed, List.of(source.input(survey.requests()))), costs, pool, fewest,
                    shared.fewest(), rows, row -> objectives.broken(row.report(), headroom)));
            return fewest == null ? 1 : 0;
        }
    }

    private Sizing sizing(Study study, BlockPool pool, PolicyName routing, Objectives objectives, Progress progress) {
        return new Sizing(workers -> {
            List<Row> row = new ArrayList<>();
            var cell = new Cell(workers, 1, new CacheSize.Tokens(pool.tokens()), routing);
            study.run(List.of(cell), row::add, share -> progress.tell(workers + " workers,", share));
            return row.getFirst();
        }, row -> objectives.broken(row.report(), headroom).isEmpty(), MOST_WORKERS);
    }

    private void show(SizeView view) {
        spec.commandLine().getOut().print(json ? JsonText.of(view) + '\n' : view.text());
        spec.commandLine().getOut().flush();
    }

    private void refuseWhatDoesNotFit(Roofline roofline, Survey survey, BlockPool pool) {
        long longest = (long) survey.longestBlocks() * survey.blockTokens();
        if (survey.longestBlocks() > pool.blocks()) {
            throw wrong("the longest request takes " + longest + " tokens, a worker's blocks hold " + pool.tokens()
                    + ": 0.9 of " + cards + " x " + roofline.gpu().memoryBytes() + " bytes, less "
                    + roofline.weightBytes() + " of weights and " + cards * Roofline.WORKSPACE_BYTES
                    + " of workspace, at " + roofline.cacheBytesPerToken() + " a token");
        }
        // whole blocks: the request itself may be shorter by a part of one
        if (longest - survey.blockTokens() >= roofline.model().contextLength()) {
            throw wrong("the longest request takes " + longest + " tokens in whole blocks, the model "
                    + roofline.model().contextLength());
        }
    }

    private void check() {
        options.settings(spec.commandLine());
        if ((trace == null) == (load == null)) {
            throw wrong(trace == null ? "name a file by --trace, or a generated load by --load"
                    : "--trace or --load, not both");
        }
        if (cards < 1 || cards > MOST_CARDS || sessions < 1) {
            throw wrong("--gpus-per-worker is 1 to " + MOST_CARDS + " and --sessions 1 or more, not " + cards + " and "
                    + sessions);
        }
        if (!(headroom >= 0 && headroom < 1)) {
            throw wrong("--headroom is 0 to below 1, not " + headroom);
        }
        if (!(flopsEfficiency > 0 && flopsEfficiency <= 1 && bandwidthEfficiency > 0 && bandwidthEfficiency <= 1)) {
            throw wrong("efficiencies are above 0 and at most 1, not " + flopsEfficiency + " and "
                    + bandwidthEfficiency);
        }
    }

    private Objectives objectives() {
        try {
            return Objectives.of(slo);
        } catch (IllegalArgumentException e) {
            throw wrong("--slo: " + e.getMessage());
        }
    }

    private PolicyName routing() {
        PolicyName named = Policies.named(policy);
        if (named == null) {
            throw wrong("--policy " + policy + " is none of " + String.join(", ", Policies.names()));
        }
        return named;
    }

    private Roofline roofline() throws IOException {
        Gpu card = Gpu.named(gpu);
        if (card == null) {
            throw wrong("--gpu " + gpu + " is none of " + String.join(", ", Gpu.names()));
        }
        try {
            return new Roofline(Models.named(model), card, cards, flopsEfficiency, bandwidthEfficiency);
        } catch (CostException e) {
            throw wrong("--model " + e.getMessage());
        }
    }

    private CostModel named(String nameOrFile) throws IOException {
        try {
            return CostModel.named(nameOrFile);
        } catch (CostException e) {
            throw wrong("--cost " + e.getMessage());
        }
    }

    private Load source() throws IOException {
        if (trace != null) {
            return new TraceLoad(trace, options.settings(spec.commandLine()), /* copies */ 1, /* speed */ 1);
        }
        String name = String.valueOf(load).toLowerCase(Locale.ROOT);
        GeneratedLoad generated = GeneratedLoad.named().get(name);
        if (generated == null) {
            throw wrong("--load " + load + " is none of " + String.join(", ", GeneratedLoad.named().keySet()));
        }
        return new DrawnLoad(name, generated, sessions, options.rate, options.seed);
    }

    private ParameterException wrong(String sentence) {
        return new ParameterException(spec.commandLine(), sentence);
    }
}
