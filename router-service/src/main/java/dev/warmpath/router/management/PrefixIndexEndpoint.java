package dev.warmpath.router.management;

import dev.warmpath.router.fleet.EventSource;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.prefix.KvEventApplier.Position;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.router.prefix.WorkerKeys;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.regex.Pattern;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.WebEndpoint;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;

/**
 * {@code /actuator/prefixindex}: what the index holds and how well it follows each worker; with a block's hash behind
 * it, who holds that block. Exposed by {@code management.endpoints.web.exposure.include}.
 */
@WebEndpoint(id = "prefixindex")
public class PrefixIndexEndpoint {

    /** A whole hash, or the part of it that the index knows. */
    private static final Pattern HASH_OR_KEY = Pattern.compile("(?:[0-9a-fA-F]{48})?([0-9a-fA-F]{16})");

    private final Fleet fleet;
    private final PrefixIndex index;
    private final LongSupplier nanoTime;

    /** @param nanoTime the fleet's clock */
    PrefixIndexEndpoint(Fleet fleet, PrefixIndex index, LongSupplier nanoTime) {
        this.fleet = fleet;
        this.index = index;
        this.nanoTime = nanoTime;
    }

    /** The endpoint's answer. */
    public record State(PrefixIndex.Stats statistics, List<Row> workers) {}

    /**
     * The copy of one worker's announced blocks.
     *
     * @param source    log: by Redis; direct: by the worker's own stream
     * @param grade     exact, history or load: how far decisions rely on it
     * @param entries   blocks in it, of {@code blockCount} at most
     * @param setDigest checksum of them, 16 hex digits; a heartbeat of the same sequence has the same
     * @param sequence  number of the last batch inside; -1 = no snapshot yet
     * @param behindBatches batches that are missing
     * @param behindMillis  since when
     */
    public record Row(String id, long epoch, String source, String grade, int entries, int blockCount,
            String setDigest, long sequence, long behindBatches, long behindMillis) {

        static Row of(FleetWorker worker, long nowNanos) {
            Position position = worker.events().position();
            return new Row(worker.id(), worker.epoch(), text(worker.eventSource()),
                    worker.indexGrade(nowNanos).text(), position.setSize(), worker.blockCount(),
                    HexFormat.of().toHexDigits(position.setDigest()), position.sequence(), worker.behindBatches(),
                    TimeUnit.NANOSECONDS.toMillis(worker.outOfStepNanos(nowNanos)));
        }

        private static String text(EventSource source) {
            return source.name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * Who holds a block. A prefix-closed worker holds all blocks before it, too.
     *
     * @param key     the last 16 hex digits of its hash
     * @param workers ids
     */
    public record Holders(String key, List<String> workers) {}

    @ReadOperation
    public State state() {
        long now = nanoTime.getAsLong();
        return new State(index.stats(), fleet.everyone().stream().map(worker -> Row.of(worker, now)).toList());
    }

    /** @param hash of a block in 64 hex digits, as {@code /v1/route} tells it, or the last 16 of them */
    @ReadOperation
    public WebEndpointResponse<Object> holders(@Selector String hash) {
        var matcher = HASH_OR_KEY.matcher(hash);
        if (!matcher.matches()) {
            return new WebEndpointResponse<>(ProblemDetail.forStatusAndDetail(HttpStatus.BAD_REQUEST,
                    "a block is named by its hash, 64 hex digits, or by its key, the last 16 of them"),
                    HttpStatus.BAD_REQUEST.value());
        }
        String key = matcher.group(1);
        List<WorkerKeys> holders = index.holders(HexFormat.fromHexDigitsToLong(key));
        return new WebEndpointResponse<>(new Holders(key, fleet.everyone().stream()
                .filter(worker -> holders.contains(worker.keys())).map(FleetWorker::id).toList()));
    }
}
