package dev.warmpath.planner.trace;

import dev.warmpath.workload.Turn;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * A trace's requests in order of time, read as they are asked for. One thread reads.
 *
 * <p>Traces have coarse clocks: Mooncake's have ten requests at the same moment every three seconds. Those of one
 * moment are spread evenly until the next one, as far as {@value #MOST_AHEAD} of them. A router writes a request's line
 * when it has ended: so many lines are looked at ahead to bring them into the order of their arrivals.
 */
public final class TraceReader implements AutoCloseable {

    static final int MOST_AHEAD = 10_000;
    /** Of all prompts that are looked at ahead, in blocks. */
    private static final long MOST_BLOCKS_AHEAD = 4_000_000;
    /** Between the first request and the last. */
    private static final int MOST_DAYS = 100;
    /** Of the last moment: as long as one lasts in Mooncake's traces. */
    private static final long LAST_MICROS = 3_000_000;

    private final TraceLines lines;
    private final TraceSettings settings;
    private final SplittableRandom random;
    private final Deque<Arrival> ready = new ArrayDeque<>();
    private final PriorityQueue<Ahead> unordered =
            new PriorityQueue<>(Comparator.comparingDouble(Ahead::millis).thenComparingLong(Ahead::number));
    private long blocksAhead;
    /** Not given out yet; null after the last one. */
    private @Nullable Ahead next;
    private boolean hasBegun;
    private boolean areTimed;
    private double firstMillis;
    private long lastMicros;
    private long requests;

    /** A line without its bytes. */
    private record Ahead(double millis, Turn turn, long number) {

        static @Nullable Ahead of(TraceLines.@Nullable Line line) {
            return line == null ? null : new Ahead(line.millis(), line.turn(), line.number());
        }

        int blocks() {
            return turn.prompt().pieces().length;
        }
    }

    private TraceReader(TraceLines lines, TraceSettings settings) {
        this.lines = lines;
        this.settings = settings;
        random = new SplittableRandom(settings.seed());
    }

    /** @throws IOException if the file cannot be read */
    public static TraceReader open(Path file, TraceSettings settings) throws IOException {
        return new TraceReader(TraceLines.open(file, settings), settings);
    }

    /**
     * The next request; null after the last one.
     *
     * @throws TraceException if a line is not what it should be, or none is there at all
     * @throws IOException    if the file cannot be read on
     */
    public @Nullable Arrival next() throws IOException {
        if (ready.isEmpty()) {
            fill();
        }
        Arrival arrival = ready.poll();
        if (arrival != null) {
            requests++;
        }
        return arrival;
    }

    private void fill() throws IOException {
        if (!hasBegun) {
            begin();
        }
        if (next != null && areTimed) {
            fillMoment(next);
        } else if (next != null) {
            lastMicros += requests == 0 ? 0
                    : Math.round(-Math.log(1 - random.nextDouble()) / settings.perSecond() * 1e6);
            ready.add(new Arrival(lastMicros, next.turn, next.number));
            next = following(next);
        }
    }

    private void begin() throws IOException {
        hasBegun = true;
        next = Ahead.of(lines.next());
        if (next != null && lines.isOutOfOrder()) {
            blocksAhead = next.blocks();
            unordered.add(next);
            next = earliest();
        }
        areTimed = next != null && Double.isFinite(next.millis);
        firstMillis = next == null ? 0 : next.millis;
    }

    /** All of one moment, which end where the next one begins. */
    private void fillMoment(Ahead first) throws IOException {
        Deque<Ahead> same = new ArrayDeque<>();
        long blocks = 0;
        while (next != null && next.millis == first.millis && same.size() < MOST_AHEAD && blocks < MOST_BLOCKS_AHEAD) {
            same.add(next);
            blocks += next.blocks();
            next = following(next);
        }
        long from = Math.max(lastMicros, micros(first));
        long to = next == null ? from + LAST_MICROS : Math.max(from, micros(next));
        int count = same.size();
        for (int i = 0; i < count; i++) {
            Ahead line = same.remove();
            lastMicros = from + (to - from) * i / count;
            ready.add(new Arrival(lastMicros, line.turn, line.number));
        }
    }

    private long micros(Ahead line) {
        return Math.round((line.millis - firstMillis) * 1e3);
    }

    private @Nullable Ahead following(Ahead before) throws IOException {
        if (lines.isOutOfOrder()) {
            return earliest();
        }
        Ahead line = Ahead.of(lines.next());
        if (line != null && Double.isFinite(line.millis) != areTimed) {
            throw lines.problem(areTimed ? "it has no time, and lines before it have one"
                    : "it has a time, and lines before it have none");
        }
        if (line != null && areTimed && line.millis < before.millis) {
            throw lines.problem("it comes before line " + before.number + ", at " + line.millis + " ms after "
                    + before.millis + " ms; sort the file by time");
        }
        if (line != null && areTimed && line.millis - firstMillis > MOST_DAYS * 86_400e3) {
            throw lines.problem("it comes " + (long) ((line.millis - firstMillis) / 86_400e3)
                    + " days after the first one; is its time in another unit?");
        }
        return line;
    }

    /** Of the lines ahead. */
    private @Nullable Ahead earliest() throws IOException {
        while (unordered.size() < MOST_AHEAD && blocksAhead < MOST_BLOCKS_AHEAD) {
            Ahead line = Ahead.of(lines.next());
            if (line == null) {
                break;
            }
            blocksAhead += line.blocks();
            unordered.add(line);
        }
        Ahead earliest = unordered.poll();
        blocksAhead -= earliest == null ? 0 : earliest.blocks();
        return earliest;
    }

    /** What the file turned out to be, by its first line. */
    public String format() {
        return lines.format();
    }

    /** Whether {@link Continuations} of it can be known; after the last request. */
    public boolean hasAnswers() {
        return lines.hasAnswers();
    }

    /** Requests that were given out. */
    public long requests() {
        return requests;
    }

    /** How much of the file was read, 0 to 1, for progress. */
    public double share() {
        return lines.share();
    }

    /** Of the file's bytes as they lie there, in hex; reads what is left of them. */
    public String sha256() throws IOException {
        return lines.sha256();
    }

    @Override
    public void close() throws IOException {
        lines.close();
    }
}
