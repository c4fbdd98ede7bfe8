package dev.warmpath.router.keys;

import dev.warmpath.protocol.process.ProcessEnd;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the accepted keys as the file has them. It is read every second, since neither its date nor its size tells all
 * changes, and a Secret changes by links. What is new counts when two looks have seen the same, so that a file that is
 * being written is not taken for a shorter one; what cannot be read, or is no file of keys, changes nothing.
 */
final class KeyFileWatch implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(KeyFileWatch.class);
    private static final Duration BETWEEN_LOOKS = Duration.ofSeconds(1);
    private static final byte[] NOTHING = {};

    private final Path file;
    private final ApiKeys keys;
    private @Nullable Thread looking;
    /** What the accepted keys were read from. */
    private byte[] inForce = NOTHING;
    /** What the last look saw. */
    private byte[] seen = NOTHING;
    private volatile @Nullable String problem;

    KeyFileWatch(Path file, ApiKeys keys) {
        this.file = file;
        this.keys = keys;
    }

    /**
     * Takes what is there, and follows it. A file that is missing or empty may come later.
     *
     * @throws IllegalArgumentException if what is there is no file of keys
     */
    void start() {
        try {
            byte[] first = KeyFile.bytes(file);
            accept(first);
            seen = first;
        } catch (NoSuchFileException _) {
            failed("there is none");
        } catch (IOException e) {
            failed(e.toString());
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("warmpath.api-keys.file, " + file + ": " + e.getMessage(), e);
        }
        if (keys.count() == 0) {
            log.warn("warmpath.api-keys.file, {}, has no keys: nobody may use the API", file);
        } else {
            log.info("warmpath.api-keys.file, {}: {} keys are accepted", file, keys.count());
        }
        looking = Thread.ofVirtual().name("api-keys").start(this::lookOnAndOn);
    }

    private void lookOnAndOn() {
        try {
            while (true) {
                Thread.sleep(BETWEEN_LOOKS);
                look();
            }
        } catch (InterruptedException _) {
            // the router ends
        }
    }

    void look() {
        try {
            byte[] now = KeyFile.bytes(file);
            boolean isWhole = Arrays.equals(now, seen);
            seen = now;
            if (isWhole && (problem != null || !Arrays.equals(now, inForce))) {
                accept(now);
                log.info("warmpath.api-keys.file, {}, has changed: {} keys are accepted", file, keys.count());
            }
        } catch (IOException | RuntimeException | Error e) {
            ProcessEnd.rethrowIfFatal(e);
            failed(e instanceof NoSuchFileException ? "there is none any more"
                    : e instanceof IllegalArgumentException ? String.valueOf(e.getMessage()) : e.toString());
        }
    }

    private void accept(byte[] bytes) {
        List<KeyFile.Key> read = KeyFile.parse(bytes);
        keys.accept(read);
        inForce = bytes;
        problem = null;
    }

    private void failed(String why) {
        if (!why.equals(problem)) {
            log.error("warmpath.api-keys.file, {}, cannot be used: {}; {} keys of before are accepted", file, why,
                    keys.count());
        }
        problem = why;
    }

    /** Why what is in the file does not count, or null. */
    @Nullable String problem() {
        return problem;
    }

    @Override
    public void close() {
        if (looking != null) {
            looking.interrupt();
        }
    }
}
