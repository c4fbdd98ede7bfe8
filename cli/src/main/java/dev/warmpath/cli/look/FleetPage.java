package dev.warmpath.cli.look;

import dev.warmpath.cli.terminal.Screen;
import dev.warmpath.cli.terminal.Table;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A reading as lines for people. */
final class FleetPage {

    private static final int BAR = 10;
    private static final String UNKNOWN = "–";
    private static final String GAP = "   ";

    private FleetPage() {}

    static List<String> workers(List<FleetReading.Worker> workers, Screen screen, int width) {
        var table = new Table().left("worker", 10).left("state", 9).left("health", 8).left("grade", 4)
                .left("model", 1).right("running", 7).right("waiting", 7).left("blocks in use", 6).right("", 5)
                .right("hit credit", 2).right("indexed", 3).right("lease", 0);
        for (FleetReading.Worker worker : workers) {
            table.row(worker.id(), worker.state(), worker.health(), Objects.requireNonNullElse(worker.grade(), UNKNOWN),
                    worker.model(), known(worker.running()), known(worker.waiting()),
                    worker.usage() == null ? UNKNOWN : screen.bar(worker.usage(), BAR),
                    worker.freeBlocks() == null ? UNKNOWN + "/" + worker.blocks()
                            : worker.blocks() - worker.freeBlocks() + "/" + worker.blocks(),
                    percent(worker.credit()), count(worker.indexEntries()), millis(worker.leaseAgeMs()));
        }
        List<String> lines = new ArrayList<>(workers.isEmpty() ? List.of("no worker has joined") : table.lines(width));
        for (FleetReading.Worker worker : workers) {
            if (worker.problem() != null) {
                lines.add(worker.id() + ": " + worker.problem());
            }
            if (worker.healthProblem() != null) {
                lines.add(worker.id() + ": " + worker.healthProblem());
            }
        }
        return lines;
    }

    /** @param intervalSeconds after which it is drawn again; 0: it is not */
    static List<String> top(FleetReading reading, Fleet fleet, double intervalSeconds, Screen screen, int width) {
        FleetReading.Router router = reading.router();
        long ready = reading.workers().stream().filter(worker -> worker.state().equals("ready")).count();
        FleetReading.@Nullable FirstToken first = router.firstTokenMs();
        List<String> lines = new ArrayList<>();
        lines.addAll(wrapped(width, fleet.first().api().url()
                + (fleet.routers().size() > 1 ? " and " + (fleet.routers().size() - 1) + " more" : ""),
                ready + " of " + reading.workers().size() + " workers ready", reading.at(),
                intervalSeconds > 0 ? "every " + intervalSeconds + " s, q ends" : ""));
        lines.addAll(wrapped(width, "requests/s " + rate(router.requestsPerSecond()),
                "under way " + router.requestsInFlight(), "done " + count(router.requests()),
                "failed " + count(router.failed())));
        lines.addAll(wrapped(width, "tokens/s " + rate(router.tokensPerSecond()),
                "prompt tokens/s " + rate(router.promptTokensPerSecond()),
                "hit rate " + (router.hitRate() == null ? UNKNOWN : percent(router.hitRate())),
                "first token p50 " + (first == null ? UNKNOWN : duration(first.p50())) + " p99 "
                        + (first == null ? UNKNOWN : duration(first.p99()))));
        lines.addAll(wrapped(width, "index: " + count(reading.index().entries()) + " blocks at workers",
                count(reading.index().keys()) + " different", count(reading.index().bytes() >> 10) + " KiB"));
        lines.add("");
        lines.addAll(workers(reading.workers(), screen, width));
        return lines;
    }

    /** Items in as few lines as they fit into. */
    private static List<String> wrapped(int width, String... items) {
        List<String> lines = new ArrayList<>();
        for (String item : items) {
            if (!lines.isEmpty() && lines.getLast().length() + GAP.length() + item.length() <= width) {
                lines.add(lines.removeLast() + GAP + item);
            } else {
                lines.add(item);
            }
        }
        return lines.stream().map(String::stripTrailing).toList();
    }

    static String known(@Nullable Object value) {
        return value == null ? UNKNOWN : value.toString();
    }

    static String count(long value) {
        return String.format(Locale.ROOT, "%,d", value);
    }

    static String percent(double share) {
        return Math.round(100 * share) + " %";
    }

    private static String rate(@Nullable Double perSecond) {
        return perSecond == null ? UNKNOWN : String.format(Locale.ROOT, perSecond < 100 ? "%.1f" : "%,.0f", perSecond);
    }

    static String millis(long millis) {
        return millis < 10_000 ? millis + " ms" : millis / 1_000 + " s";
    }

    static String duration(double millis) {
        return String.format(Locale.ROOT, millis < 10 ? "%.1f ms" : "%,.0f ms", millis);
    }
}
