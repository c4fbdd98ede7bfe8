package dev.warmpath.cli.look;

import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.look.Fleet.Router;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Reads a fleet, again and again: counts from each router's metrics, workers from the first router that answers. Rates
 * are of the last ten seconds, hit rate and times of the last minute, and of all time while only one moment is known.
 */
final class FleetReader {

    private static final long RATE_NANOS = 10_000_000_000L;
    private static final long WINDOW_NANOS = 60_000_000_000L;
    /** More would be of no use: readings are a fifth of a second apart at least. */
    private static final int MOST_MOMENTS = 300;

    private final Fleet fleet;
    private final LongSupplier nanoTime;
    private final Deque<Moment> moments = new ArrayDeque<>();

    private record Moment(long nanos, Totals totals) {}

    FleetReader(Fleet fleet, LongSupplier nanoTime) {
        this.fleet = fleet;
        this.nanoTime = nanoTime;
    }

    /** @throws CommandException if no router answers; what the first one lacks is said then */
    FleetReading read() {
        Totals totals = Totals.NONE;
        @Nullable Router answering = null;
        @Nullable CommandException first = null;
        for (Router router : fleet.routers()) {
            try {
                totals = totals.plus(Totals.of(new PrometheusText(router.management().text("/actuator/prometheus"))));
                answering = answering == null ? router : answering;
            } catch (CommandException e) {
                first = first == null ? e : first;
            }
        }
        if (answering == null) {
            throw first == null ? new CommandException("no router is named") : first;
        }
        JsonNode index = answering.management().json("/actuator/prefixindex");
        JsonNode statistics = index.path("statistics");
        List<FleetReading.Worker> workers = workers(answering, index);
        return new FleetReading(Instant.now().truncatedTo(ChronoUnit.MILLIS).toString(), router(totals),
                new FleetReading.Index(index.path("workers").size(), statistics.path("entries").asLong(0),
                        statistics.path("keys").asLong(0), statistics.path("bytes").asLong(0)), workers);
    }

    /** The workers, without the rest, by the first router that answers. */
    static List<FleetReading.Worker> known(Fleet fleet) {
        @Nullable CommandException first = null;
        for (Router router : fleet.routers()) {
            try {
                return workers(router, router.management().json("/actuator/prefixindex"));
            } catch (CommandException e) {
                first = first == null ? e : first;
            }
        }
        throw first == null ? new CommandException("no router is named") : first;
    }

    private static List<FleetReading.Worker> workers(Router router, JsonNode index) {
        Map<String, JsonNode> rows = new HashMap<>();
        index.path("workers").forEach(row -> rows.put(row.path("id").asString(""), row));
        List<FleetReading.Worker> workers = new ArrayList<>();
        JsonNode answer = router.management().json("/actuator/workers").path("workers");
        if (!answer.isArray()) {
            throw new CommandException(router.management().url() + "/actuator/workers tells of no workers: is it a"
                    + " router's management port?");
        }
        answer.forEach(seen -> workers.add(worker(seen, rows.get(seen.path("id").asString("")))));
        workers.sort(Comparator.comparing(FleetReading.Worker::id, FleetReader::byNumber));
        return workers;
    }

    /** worker-2 before worker-10. */
    private static int byNumber(String one, String other) {
        String[] parts = {one.replaceAll("\\d+$", ""), other.replaceAll("\\d+$", "")};
        return parts[0].equals(parts[1]) && one.length() != other.length()
                ? Integer.compare(one.length(), other.length()) : one.compareTo(other);
    }

    private static FleetReading.Worker worker(JsonNode seen, @Nullable JsonNode row) {
        @Nullable Integer free = integer(seen, "freeBlocks");
        int blocks = seen.path("blockCount").asInt(0);
        return new FleetReading.Worker(seen.path("id").asString(""), seen.path("state").asString("?"),
                text(seen, "problem"), seen.path("health").asString("?"), text(seen, "healthProblem"),
                row == null ? null : text(row, "grade"), row == null ? 0 : row.path("behindBatches").asLong(0),
                seen.path("url").asString(""), seen.path("model").asString(""), seen.path("revision").asString(""),
                integer(seen, "running"), integer(seen, "waiting"), free, blocks,
                free == null || blocks == 0 ? null : (double) (blocks - free) / blocks,
                seen.path("indexEntries").asLong(0), seen.path("credit").asDouble(0),
                seen.path("failureShare").asDouble(0), seen.path("leaseAgeMillis").asLong(0));
    }

    private static @Nullable Integer integer(JsonNode json, String name) {
        return json.path(name).isNumber() ? json.path(name).asInt() : null;
    }

    private static @Nullable String text(JsonNode json, String name) {
        return json.path(name).isString() ? json.path(name).asString() : null;
    }

    private FleetReading.Router router(Totals totals) {
        long now = nanoTime.getAsLong();
        while (moments.size() >= MOST_MOMENTS || !moments.isEmpty() && now - moments.getFirst().nanos > WINDOW_NANOS) {
            moments.removeFirst();
        }
        Totals window = moments.isEmpty() ? totals : totals.since(moments.getFirst().totals);
        @Nullable Moment before = null;
        for (Moment moment : moments) {
            if (before == null && now - moment.nanos <= RATE_NANOS) {
                before = moment;
            }
        }
        @Nullable Double seconds = before == null ? null : Math.max(1e-3, (now - before.nanos) / 1e9);
        Totals recent = before == null ? Totals.NONE : totals.since(before.totals);
        moments.addLast(new Moment(now, totals));
        @Nullable Double p50 = window.firstTokenMillis(0.5);
        @Nullable Double p99 = window.firstTokenMillis(0.99);
        return new FleetReading.Router(totals.inFlight(), totals.requests(), totals.failed(), totals.promptTokens(),
                totals.cachedTokens(), totals.completionTokens(), window.hitRate(), rate(recent.requests(), seconds),
                rate(recent.promptTokens(), seconds), rate(recent.completionTokens(), seconds),
                p50 == null || p99 == null ? null : new FleetReading.FirstToken(p50, p99));
    }

    private static @Nullable Double rate(long count, @Nullable Double seconds) {
        return seconds == null ? null : count / seconds;
    }
}
