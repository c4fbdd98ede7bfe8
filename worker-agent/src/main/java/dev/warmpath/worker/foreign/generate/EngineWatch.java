package dev.warmpath.worker.foreign.generate;

import java.io.IOException;
import java.net.ConnectException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks at the engine again and again: its metrics, and what it says of its own health. It does not answer when its
 * connections are refused, when it says so itself, or when it has been silent for {@value #SILENT_LOOKS} looks and none
 * of its generations has brought anything meanwhile: an engine that computes at one request at a time may have no time
 * for others.
 */
final class EngineWatch implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(EngineWatch.class);
    private static final Duration TIMEOUT = Duration.ofSeconds(3);
    private static final int SILENT_LOOKS = 3;
    /** SGLang draws a token to know how it is: it is asked no more often. */
    private static final int LOOKS_PER_HEALTH = 5;
    private static final int SERVER_ERRORS = 500;
    private static final long SHORTEST_PAUSE_NANOS = 50_000_000;
    private static final double SAME_LIFE_SECONDS = 0.001;

    private final EngineLink link;
    private final FoundEngine found;
    private final SeriesNames names;
    private final IntSupplier alive;
    private final LongSupplier heardNanos;
    private final Runnable onRestart;
    private final Runnable onAnother;
    private final EngineHttp http;
    private final Thread thread = Thread.ofVirtual().name("engine-watch").unstarted(this::run);
    private volatile Seen seen = new Seen(EngineLoad.NOT_SEEN, 0);
    private volatile boolean answers = true;
    private volatile boolean closing;
    private volatile boolean lookNow;
    private int silentLooks;
    private int looksToHealth;
    private int health;
    private boolean wasGone;
    /** When the engine's present life began, in seconds since 1970; 0 = it does not say. */
    private double startedSeconds;
    private boolean isAnother;

    /**
     * @param alive      generations of this worker's that are alive now
     * @param heardNanos when one of them last brought something
     * @param onRestart  called each time that it was started anew and is what it was
     * @param onAnother  called once, when it was started anew and is not what it was
     */
    EngineWatch(EngineLink link, FoundEngine found, IntSupplier alive, LongSupplier heardNanos, Runnable onRestart,
            Runnable onAnother) {
        this.link = link;
        this.found = found;
        this.startedSeconds = found.facts().startedSeconds();
        this.names = SeriesNames.of(found.facts().kind());
        this.alive = alive;
        this.heardNanos = heardNanos;
        this.onRestart = onRestart;
        this.onAnother = onAnother;
        this.http = new EngineHttp(link);
    }

    /**
     * As of the last look.
     *
     * @param others requests at the engine that this worker has not brought there
     */
    record Seen(EngineLoad load, int others) {}

    void start() {
        thread.start();
    }

    Seen seen() {
        return seen;
    }

    boolean answers() {
        return answers;
    }

    /** On any thread: the next look is soon. */
    void lookNow() {
        lookNow = true;
        LockSupport.unpark(thread);
    }

    private void run() {
        while (!closing) {
            looksToHealth = lookNow ? 0 : looksToHealth;
            lookNow = false;
            look();
            pause();
        }
    }

    /** Until the next look is due, or somebody wants one; whatever happens, not at once. */
    private void pause() {
        long looked = System.nanoTime();
        while (!closing) {
            long interval = link.pollInterval().toNanos();
            long left = looked + (lookNow ? Math.min(SHORTEST_PAUSE_NANOS, interval) : interval) - System.nanoTime();
            if (left <= 0) {
                return;
            }
            LockSupport.parkNanos(this, left);
        }
    }

    private void look() {
        try {
            if (--looksToHealth <= 0) {
                health = http.get("/health", TIMEOUT).status();
                looksToHealth = health < SERVER_ERRORS ? LOOKS_PER_HEALTH : 0;
            }
            EngineHttp.Answer metrics = http.get("/metrics", TIMEOUT);
            silentLooks = 0;
            if (metrics.isOk()) {
                read(new Samples(metrics.text()));
            }
            if (wasGone) {
                restart("it was gone for a while");
            }
            tell(!isAnother && health < SERVER_ERRORS, isAnother ? "it is another one" : "its health is " + health);
        } catch (ConnectException e) {
            wasGone = true;
            tell(false, "it cannot be reached");
        } catch (IOException e) {
            boolean isBusy = System.nanoTime() - heardNanos.getAsLong() < link.pollInterval().plus(TIMEOUT).toNanos();
            silentLooks = isBusy ? 0 : silentLooks + 1;
            if (silentLooks >= SILENT_LOOKS) {
                tell(false, "it has not answered " + silentLooks + " times: " + e.getMessage());
            }
        } catch (RuntimeException e) {
            log.warn("the engine's load could not be read", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            closing = true;
        }
    }

    private void read(Samples page) throws IOException, InterruptedException {
        double started = page.first(SeriesNames.STARTED, 0);
        if (startedSeconds != 0 && started != 0) {
            wasGone = false;                                           // it says itself whether it is another one
            if (Math.abs(started - startedSeconds) > SAME_LIFE_SECONDS) {
                restart("its process is another one");
            }
        }
        EngineLoad load = names.load(page, found.facts().cache(), link.rank());
        seen = new Seen(load, Math.max(0, load.running() + load.waiting() - alive.getAsInt()));
    }

    /** Whether it is what it was. @throws IOException if it cannot say yet: the next look asks again */
    private void restart(String why) throws IOException, InterruptedException {
        if (isAnother) {
            return;
        }
        @Nullable String other;
        try {
            FoundEngine now = EngineProbe.connect(link, found.facts().kind(), found.spelling());
            if (now.isLike(found)) {
                log.warn("the engine was started anew ({}), and is the same as before", why);
                startedSeconds = now.facts().startedSeconds();
                wasGone = false;
                other = null;
            } else {
                other = now.facts().toString();
            }
        } catch (UnsuitableEngineException | RuntimeException e) {
            other = e.toString();                                      // whatever it is, a new start will tell
        }
        if (other == null) {
            onRestart.run();
            return;
        }
        isAnother = true;
        log.warn("the engine was started anew ({}), and is another one: {} instead of {}", why, other, found.facts());
        onAnother.run();
    }

    private void tell(boolean now, String why) {
        if (now != answers) {
            log.warn(now ? "the engine answers again" : "the engine does not answer, nothing new is taken: {}", why);
        }
        answers = now;
    }

    @Override
    public void close() {
        closing = true;
        LockSupport.unpark(thread);
        try {
            if (thread.isAlive()) {
                thread.interrupt();
                thread.join(TimeUnit.SECONDS.toMillis(2));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        http.close();
    }
}
