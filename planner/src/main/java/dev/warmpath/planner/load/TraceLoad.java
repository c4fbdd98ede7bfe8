package dev.warmpath.planner.load;

import dev.warmpath.planner.output.Provenance;
import dev.warmpath.planner.trace.Arrival;
import dev.warmpath.planner.trace.Continuations;
import dev.warmpath.planner.trace.TraceReader;
import dev.warmpath.planner.trace.TraceSettings;
import dev.warmpath.workload.Prompt;
import dev.warmpath.workload.Session;
import dev.warmpath.workload.Turn;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/**
 * A file's requests, each a session of its own. Laid over itself it has more clients of the same habits: each copy is
 * shifted in time by its part of the span, begins anew when it comes to the end, and has blocks of its own, but for the
 * block with which the file begins: what all clients have in common. To quicken a trace shortens clients' pauses, too,
 * and makes caches look better than they are.
 */
public final class TraceLoad implements Load {

    private final Path file;
    private final TraceSettings settings;
    private final int copies;
    private final double speed;
    private final long spanMicros;
    private final long commonPiece;
    private final Continuations continuations;
    private final String format;
    private final String sha256;

    /**
     * Reads the file once, so that whatever is wrong in it is told before anything is simulated.
     *
     * @param copies at least 1
     * @param speed  times as quick as the file; above 0
     * @throws dev.warmpath.planner.trace.TraceException if the file is no trace, or has no request in it
     */
    public TraceLoad(Path file, TraceSettings settings, int copies, double speed) throws IOException {
        this.file = file;
        this.settings = settings;
        this.copies = copies;
        this.speed = speed;
        try (TraceReader reader = TraceReader.open(file, settings)) {
            Arrival first = reader.next();
            commonPiece = first == null ? 0 : first.turn().prompt().pieces()[0];
            long last = 0;
            var found = new Continuations();
            for (Arrival next = first; next != null; next = reader.next()) {
                last = next.micros();
                if (reader.hasAnswers()) {
                    found.add(next);
                }
            }
            continuations = found;
            spanMicros = last + 1;
            format = reader.format();
            sha256 = reader.sha256();
        }
    }

    @Override
    public String name() {
        return file.getFileName() + (copies == 1 ? "" : ", " + copies + " copies")
                + (speed == 1 ? "" : ", " + speed + " times as quick");
    }

    @Override
    public Provenance.Input input(long requests) {
        return new Provenance.Input(name(), format, sha256, requests);
    }

    @Override
    public Sessions open() throws IOException {
        List<Copy> all = new ArrayList<>();
        for (int copy = 0; copy < copies; copy++) {
            all.add(new Copy(copy));
        }
        return new Overlaid(all);
    }

    /** One of the copies: what the file has from a moment on, then what it has before that. */
    private final class Copy {

        private final int number;
        private final long shiftMicros;
        private TraceReader reader;
        private boolean hasTurned;
        private @Nullable Session next;

        Copy(int number) throws IOException {
            this.number = number;
            shiftMicros = spanMicros / copies * number;
            reader = TraceReader.open(file, settings);
            hasTurned = number == 0;                               // it is not shifted
            next = find();
        }

        private @Nullable Session find() throws IOException {
            while (true) {
                Arrival arrival = reader.next();
                boolean isLate = arrival != null && arrival.micros() + shiftMicros >= spanMicros;
                if (arrival != null && !hasTurned && isLate) {
                    return session(arrival, arrival.micros() + shiftMicros - spanMicros);
                } else if (arrival != null && hasTurned && !isLate) {
                    return session(arrival, arrival.micros() + shiftMicros);
                } else if (hasTurned) {
                    reader.close();
                    return null;
                } else if (arrival == null) {
                    reader.close();
                    reader = TraceReader.open(file, settings);
                    hasTurned = true;
                }
            }
        }

        private Session session(Arrival arrival, long micros) {
            Turn turn = continuations.of(arrival);
            Prompt prompt = turn.prompt();
            return Session.of(Math.round(micros / speed), copies == 1 ? turn : new Turn(
                    new Prompt(own(prompt.pieces()), prompt.pieceTokens(), prompt.length()), turn.answerTokens(),
                    own(turn.continued())));
        }

        private long[] own(long[] pieces) {
            long[] own = new long[pieces.length];
            for (int i = 0; i < pieces.length; i++) {
                own[i] = pieces[i] == commonPiece || pieces[i] < 0 ? pieces[i]
                        : Long.remainderUnsigned(pieces[i] * copies + number, Prompt.PIECES);
            }
            return own;
        }

        private Session take() {
            Session taken = next;
            try {
                next = find();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            if (taken == null) {
                throw new NoSuchElementException();
            }
            return taken;
        }

        private long startMicros() {
            return next == null ? Long.MAX_VALUE : next.startMicros();
        }
    }

    private static final class Overlaid implements Sessions {

        private final PriorityQueue<Copy> next =
                new PriorityQueue<>(Comparator.comparingLong(Copy::startMicros).thenComparingInt(copy -> copy.number));
        private final List<Copy> all;

        private Overlaid(List<Copy> all) {
            this.all = all;
            all.stream().filter(copy -> copy.next != null).forEach(next::add);
        }

        @Override
        public boolean hasNext() {
            return !next.isEmpty();
        }

        @Override
        public Session next() {
            Copy first = next.remove();
            Session session = first.take();
            if (first.next != null) {
                next.add(first);
            }
            return session;
        }

        /** All copies are about as far. */
        @Override
        public double share() {
            return all.getFirst().reader.share();
        }

        @Override
        public void close() {
            for (Copy copy : all) {
                try {
                    copy.reader.close();
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        }
    }
}
