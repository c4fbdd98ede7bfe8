package dev.warmpath.planner.command;

import dev.warmpath.planner.output.JsonText;
import dev.warmpath.planner.output.Progress;
import dev.warmpath.planner.output.Provenance;
import dev.warmpath.planner.replay.DecisionLines;
import dev.warmpath.planner.replay.Replay;
import dev.warmpath.planner.replay.ReplayView;
import dev.warmpath.planner.simulation.Policies;
import dev.warmpath.router.routing.ExpectedFirstToken;
import dev.warmpath.router.routing.PolicyName;
import dev.warmpath.router.routing.RoutingPolicy;
import dev.warmpath.router.routing.RoutingWeights;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code plan replay}: a router's own decisions under every policy. */
@Command(name = "replay", description = {"A router's own decisions, asked again of every policy with what it saw.",
        "The log is warmpath.decisions.file of a router that runs with warmpath.decisions.replay=true."})
final class ReplayCommand implements Callable<Integer> {

    private static final int TOLD_EACH = 64;

    @Spec
    CommandSpec spec = CommandSpec.create();

    @Parameters(paramLabel = "LOG", description = "The log; .gz is unpacked.")
    Path file = Path.of("");

    @Option(names = "--policy", paramLabel = "NAME[,NAME]", split = ",", defaultValue = PolicyNames.ALL,
            completionCandidates = PolicyNames.class,
            description = "${COMPLETION-CANDIDATES}, or all (default: ${DEFAULT-VALUE}); docs/policies.md.")
    List<String> policies = List.of(PolicyNames.ALL);

    @Option(names = "--weight", paramLabel = "NAME=VALUE", description = "Of the default policy, where it is not the"
            + " usual one: queued-request, missing-slot, eviction, stream or failure, as warmpath.routing.weights.*"
                    + " has it.")
    Map<String, Double> weights = new LinkedHashMap<>();

    @Option(names = "--json", description = "The result as JSON.")
    boolean json;

    @Override
    public Integer call() throws IOException {
        RoutingWeights weighed = weights();
        var replay = new Replay(PolicyNames.of(policies, spec.commandLine()), name -> policy(name, weighed));
        try (Progress progress = Progress.standard();
                DecisionLines lines = DecisionLines.open(file);
                var telling = new Telling<>(progress, interrupted -> result(replay, lines, interrupted), this::show)) {
            while (next(lines, replay)) {
                if (lines.requests() % TOLD_EACH == 0) {
                    progress.tell("reading " + file.getFileName(), lines.share());
                }
            }
            lines.refuseIfNothing(replay);
            telling.done();
        }
        return 0;
    }

    private static boolean next(DecisionLines lines, Replay replay) throws IOException {
        synchronized (replay) {                                    // an interrupt tells what there is between two lines
            return lines.next(replay);
        }
    }

    private ReplayView result(Replay replay, DecisionLines lines, boolean interrupted) {
        synchronized (replay) {
            try {
                return replay.result(Provenance.of(0, List.of(new Provenance.Input(file.toString(), "router log",
                        interrupted ? "" : lines.sha256(), lines.requests()))), interrupted);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private static RoutingPolicy policy(PolicyName name, RoutingWeights weights) {
        return name == PolicyName.EXPECTED_FIRST_TOKEN ? new ExpectedFirstToken(weights) : Policies.of(name).get();
    }

    private RoutingWeights weights() {
        RoutingWeights made = RoutingWeights.DEFAULT;
        for (Map.Entry<String, Double> each : weights.entrySet()) {
            double value = each.getValue();
            if (!(value >= 0 && value <= 1e6)) {
                throw new ParameterException(spec.commandLine(), "--weight " + each.getKey()
                        + " is from 0 to a million, not " + value);
            }
            boolean isWhole = each.getKey().equals("missing-slot") || each.getKey().equals("failure");
            if (isWhole && value != Math.rint(value)) {
                throw new ParameterException(spec.commandLine(), "--weight " + each.getKey()
                        + " is a whole number, not " + value);
            }
            made = switch (each.getKey()) {
                case "queued-request" -> new RoutingWeights(value, made.missingSlot(), made.eviction(), made.stream(),
                        made.failure());
                case "missing-slot" -> new RoutingWeights(made.queuedRequest(), (int) value, made.eviction(),
                        made.stream(), made.failure());
                case "eviction" -> new RoutingWeights(made.queuedRequest(), made.missingSlot(), value, made.stream(),
                        made.failure());
                case "stream" -> new RoutingWeights(made.queuedRequest(), made.missingSlot(), made.eviction(), value,
                        made.failure());
                case "failure" -> new RoutingWeights(made.queuedRequest(), made.missingSlot(), made.eviction(),
                        made.stream(), (int) value);
                default -> throw new ParameterException(spec.commandLine(), "--weight knows queued-request,"
                        + " missing-slot, eviction, stream and failure, not '" + each.getKey() + "'");
            };
        }
        return made;
    }

    private void show(ReplayView view) {
        spec.commandLine().getOut().print(json ? JsonText.of(view) + '\n' : view.text());
        spec.commandLine().getOut().flush();
    }
}
