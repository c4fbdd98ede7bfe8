package dev.warmpath.planner.command;

import dev.warmpath.planner.cost.Calibration;
import dev.warmpath.planner.cost.CostModel;
import dev.warmpath.planner.cost.PublishedCosts;
import dev.warmpath.planner.cost.RequestOverhead;
import dev.warmpath.planner.cost.WorkerCost;
import dev.warmpath.planner.output.JsonText;
import dev.warmpath.planner.output.Provenance;
import dev.warmpath.planner.output.TextTable;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code plan calibrate}: a cost model as running workers have measured it. */
@Command(name = "calibrate", description = {"What a step takes, as running workers have measured it of themselves.",
        "Ask a router for the median over its fleet, or one worker. Workers' fits are linear: attention's cost of a"
                + " prompt is in its tokens' times, as of prompts as long as those that were measured."})
final class CalibrateCommand implements Callable<Integer> {

    @Spec
    CommandSpec spec = CommandSpec.create();

    @Parameters(paramLabel = "URL", description = "Of a router's or a worker's management port: http://HOST:PORT.")
    URI management = URI.create("");

    @Option(names = "--out", paramLabel = "FILE", description = "Where the cost model is kept.")
    @Nullable Path out;

    @Option(names = "--pair-nanos", paramLabel = "N", defaultValue = "0",
            description = "Of attention, for each token of a prompt and each token before it, which workers do not tell"
                    + " (default: ${DEFAULT-VALUE}).")
    double pairNanos;

    @Option(names = "--log", paramLabel = "FILE",
            description = "A router's log of requests, warmpath.decisions.file, of a time when the fleet was not"
                    + " busy: tells what a request takes beside steps.")
    @Nullable Path log;

    @Option(names = "--json", description = "The result as JSON.")
    boolean json;

    /** The result. @param measured workers that have measured enough steps */
    record View(Provenance provenance, CostModel model, List<Calibration.Spread> spread, int measured,
            List<Told> workers) {}

    /** What one worker tells. @param blocks of its pool; 0 if it is not told */
    record Told(String worker, String revision, boolean measured, long blocks) {}

    @Override
    public Integer call() throws IOException, InterruptedException {
        if (management.getScheme() == null || !management.getScheme().toLowerCase(Locale.ROOT).startsWith("http")
                || management.getHost() == null) {
            throw new ParameterException(spec.commandLine(), "URL is http://HOST:PORT, not '" + management + "'");
        }
        if (!(pairNanos >= 0 && pairNanos <= 1e6)) {
            throw new ParameterException(spec.commandLine(), "--pair-nanos is 0 to a million, not " + pairNanos);
        }
        Calibration calibration = Calibration.of(management.toString(), PublishedCosts.ask(management), pairNanos);
        CostModel model = calibration.model();
        if (log != null) {
            model = model.withService(model.service().withRequestMicros(RequestOverhead.micros(log, model.service())));
        }
        if (out != null) {
            model.write(out);
        }
        var view = new View(Provenance.of(0, List.of()), model, calibration.spread(),
                calibration.measured(), calibration.workers().stream().map(CalibrateCommand::told).toList());
        spec.commandLine().getOut().print(json ? JsonText.of(view) + '\n' : text(view));
        spec.commandLine().getOut().flush();
        return 0;
    }

    private static Told told(WorkerCost worker) {
        return new Told(worker.worker(), worker.revision(), worker.isMeasured(), worker.blocks());
    }

    private static String text(View view) {
        var costs = new TextTable(1, "part", "median", "least", "most");
        view.spread().forEach(each ->
                costs.add(List.of(each.part(), figure(each.median()), figure(each.least()), figure(each.most()))));
        var workers = new TextTable(3, "worker", "revision", "measured", "blocks");
        view.workers().forEach(each -> workers.add(List.of(each.worker(), each.revision(), each.measured() ? "yes"
                : "no", each.blocks() == 0 ? "–" : Long.toString(each.blocks()))));
        return view.model().source() + "\n\n" + costs + "\npairs of tokens: " + figure(view.model().service()
                .pairNanos()) + " ns, which workers do not tell\nbeside steps, a request: "
                + figure(view.model().service().requestMicros()) + " us\n\n" + workers + "\n" + view.provenance().line()
                + '\n';
    }

    private static String figure(double value) {
        return String.format(Locale.ROOT, "%.3f", value);
    }
}
