package dev.warmpath.cli.look;

import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.look.Fleet.Router;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Reads a fleet, again and again: counts from the metrics of those routers that answer, workers from the first of them.
 * Rates are of the last ten seconds, hit rate and times of the last minute, and of all time while no router has been
 * seen twice.
 */
final class FleetReader {

    private final Fleet fleet;
    private final LongSupplier nanoTime;
    /** In the order of the routers. */
    private final List<Moments> moments;

    FleetReader(Fleet fleet, LongSupplier nanoTime) {
        this.fleet = fleet;
        this.nanoTime = nanoTime;
        this.moments = fleet.routers().stream().map(_ -> new Moments()).toList();
    }

    /** @throws CommandException if no router answers; what the first one lacks is said then */
    FleetReading read() {
        List<Moments.Change> changes = new ArrayList<>();
        @Nullable Router answering = null;
        @Nullable CommandException first = null;
        for (int i = 0; i < moments.size(); i++) {
            Router router = fleet.routers().get(i);
            try {
                Totals totals = Totals.of(new PrometheusText(router.management().text("/actuator/prometheus")));
                changes.add(moments.get(i).add(nanoTime.getAsLong(), totals));
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
        return new FleetReading(Instant.now().truncatedTo(ChronoUnit.MILLIS).toString(), router(changes),
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

    private static FleetReading.Router router(List<Moments.Change> changes) {
        Totals totals = changes.stream().map(Moments.Change::totals).reduce(Totals.NONE, Totals::plus);
        List<Totals> minutes = changes.stream().map(Moments.Change::lastMinute).filter(Objects::nonNull).toList();
        Totals window = minutes.isEmpty() ? totals : minutes.stream().reduce(Totals.NONE, Totals::plus);
        @Nullable Double p50 = window.firstTokenMillis(0.5);
        @Nullable Double p99 = window.firstTokenMillis(0.99);
        return new FleetReading.Router(totals.inFlight(), totals.requests(), totals.failed(), totals.promptTokens(),
                totals.cachedTokens(), totals.completionTokens(), window.hitRate(),
                rate(changes, Totals::requests), rate(changes, Totals::promptTokens),
                rate(changes, Totals::completionTokens),
                p50 == null || p99 == null ? null : new FleetReading.FirstToken(p50, p99));
    }

    /** @return the sum of the routers' own; null while none has one */
    private static @Nullable Double rate(List<Moments.Change> changes, ToLongFunction<Totals> count) {
        @Nullable Double sum = null;
        for (Moments.Change change : changes) {
            if (change.recent() != null) {
                sum = (sum == null ? 0 : sum) + count.applyAsLong(change.recent()) / change.recentSeconds();
            }
        }
        return sum;
    }
}
