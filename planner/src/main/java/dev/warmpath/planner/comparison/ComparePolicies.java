package dev.warmpath.planner.comparison;

import dev.warmpath.planner.simulation.Policies;
import dev.warmpath.planner.simulation.Report;
import dev.warmpath.planner.simulation.SimulatedFleet;
import dev.warmpath.router.routing.ExpectedFirstToken;
import dev.warmpath.router.routing.PolicyName;
import dev.warmpath.workload.GeneratedLoad;
import dev.warmpath.workload.MooncakeTrace;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;

/**
 * Every policy on every scenario, as a table: mean time to the first token in seconds, and the share of full blocks
 * that was found cached; a dash where the fleet is overloaded. The last column is ours over the best of the others.
 *
 * <pre>{@code java -cp … dev.warmpath.planner.comparison.ComparePolicies [conversation_trace.jsonl.gz]}</pre>
 *
 * A second table has ours with one router and with several, each of which gets a share of the requests by chance.
 *
 * <p>Without the file of Mooncake's conversation trace its rows are left out. A run takes so many threads as there are
 * processors; each has a simulation of its own, so the table does not depend on them.
 */
public final class ComparePolicies {

    private static final int WORKERS = 8;
    private static final long SEED = 1;
    private static final double USUAL = 0.7;
    private static final double LONG_SESSIONS = 0.35;

    private static final List<Integer> ROUTERS = List.of(1, 2, 4, 8);

    private ComparePolicies() {}

    public static void main(String[] arguments) throws IOException, InterruptedException, ExecutionException {
        List<Scenario> scenarios = new ArrayList<>();
        if (arguments.length > 0) {
            MooncakeTrace trace = MooncakeTrace.read(Path.of(arguments[0]));
            for (double load : new double[] {0.7, 0.85, 0.95}) {
                scenarios.add(Scenario.of(trace, 16, 0.1, load, SEED));
            }
            scenarios.add(Scenario.of(trace, 16, 0.3, USUAL, SEED));
            scenarios.add(Scenario.of(trace, 8, 0.1, USUAL, SEED));
        }
        scenarios.addAll(generated());
        System.out.println("| scenario | one cache | " + String.join(" | ", Policies.all().keySet().stream()
                .map(PolicyName::text).toList()) + " | ours/best |");
        System.out.println("|---|" + "---:|".repeat(Policies.all().size() + 2));
        for (Scenario scenario : scenarios) {
            System.out.println(row(scenario));
        }
        System.out.println("\n| scenario | " + String.join(" | ", ROUTERS.stream().map(n -> n + " routers").toList())
                + " |\n|---|" + "---:|".repeat(ROUTERS.size()));
        for (Scenario scenario : scenarios) {
            System.out.println(routersRow(scenario));
        }
    }

    private static List<Scenario> generated() {
        return List.of(
                Scenario.of(GeneratedLoad.CHATBOT, 6_000, WORKERS, 1, USUAL, SEED),
                Scenario.of(GeneratedLoad.FIVE_CHATBOTS, 6_000, WORKERS, 1, USUAL, SEED),
                Scenario.of(GeneratedLoad.TENANTS, 6_000, WORKERS, 0.3, USUAL, SEED),
                Scenario.of(GeneratedLoad.TENANTS, 6_000, WORKERS, 0.1, 0.6, SEED),
                Scenario.of(GeneratedLoad.CONVERSATIONS, 2_000, WORKERS, 1, USUAL, SEED),
                Scenario.of(GeneratedLoad.CONVERSATIONS, 2_000, WORKERS, 0.3, USUAL, SEED),
                Scenario.of(GeneratedLoad.DOCUMENTS, 6_000, WORKERS, 0.3, USUAL, SEED),
                Scenario.of(GeneratedLoad.COMPLETION, 1_000, WORKERS, 0.3, USUAL, SEED),
                Scenario.of(GeneratedLoad.SUMMARIES, 6_000, WORKERS, 0.3, USUAL, SEED),
                Scenario.of(GeneratedLoad.UNIQUE, 6_000, WORKERS, 0.3, USUAL, SEED),
                Scenario.of(GeneratedLoad.AGENTS, 1_000, WORKERS, 0.3, LONG_SESSIONS, SEED),
                Scenario.of(GeneratedLoad.AGENTS, 1_000, WORKERS, 0.1, LONG_SESSIONS, SEED),
                Scenario.of(GeneratedLoad.CODING, 300, WORKERS, 1, LONG_SESSIONS, SEED),
                Scenario.of(GeneratedLoad.CODING, 300, WORKERS, 0.3, LONG_SESSIONS, SEED));
    }

    static Map<PolicyName, Report> run(Scenario scenario) throws InterruptedException, ExecutionException {
        return new EnumMap<>(sideBySide(Policies.all().keySet(), name ->
                SimulatedFleet.run(scenario.settings(), Policies.of(name), scenario.sessions())));
    }

    /** Each by a simulation of its own. */
    private static <K> Map<K, Report> sideBySide(Collection<K> what, Function<K, Report> run)
            throws InterruptedException, ExecutionException {
        Map<K, Future<Report>> running = new LinkedHashMap<>();
        try (var threads = Executors.newFixedThreadPool(Runtime.getRuntime().availableProcessors())) {
            what.forEach(each -> running.put(each, threads.submit(() -> run.apply(each))));
        }
        Map<K, Report> reports = new LinkedHashMap<>();
        for (var each : running.entrySet()) {
            reports.put(each.getKey(), each.getValue().get());
        }
        return reports;
    }

    /** Mean times to the first token; of what is overloaded none is the best, and ours is infinitely worse. */
    static double oursOverBest(Map<PolicyName, Report> reports) {
        double best = reports.entrySet().stream().filter(each -> each.getKey() != PolicyName.EXPECTED_FIRST_TOKEN)
                .mapToDouble(each -> millis(each.getValue())).min().orElseThrow();
        return millis(reports.get(PolicyName.EXPECTED_FIRST_TOKEN)) / best;
    }

    private static double millis(Report report) {
        return report.isOverloaded() ? Double.POSITIVE_INFINITY : report.meanMillis();
    }

    private static String row(Scenario scenario) throws InterruptedException, ExecutionException {
        Map<PolicyName, Report> reports = run(scenario);
        return String.format(Locale.ROOT, "| %s | %.3f |%s %.2f |", scenario.name(), scenario.pooledHit(),
                cells(reports.values()), oursOverBest(reports));
    }

    private static String routersRow(Scenario scenario) throws InterruptedException, ExecutionException {
        return "| %s |%s".formatted(scenario.name(), cells(sideBySide(ROUTERS, routers -> SimulatedFleet.run(
                scenario.settings().withRouters(routers), ExpectedFirstToken::new, scenario.sessions())).values()));
    }

    private static String cells(Collection<Report> reports) {
        var cells = new StringBuilder();
        reports.forEach(report -> cells.append(report.isOverloaded() ? " – |"
                : String.format(Locale.ROOT, " %.3f / %.3f |", report.meanMillis() / 1e3, report.hitRate())));
        return cells.toString();
    }
}
