package dev.warmpath.protocol.process;

import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/**
 * The end of this process, asked for or not. Three rules:
 * <ul>
 * <li>Told to stop, it ends within a deadline: what still hangs then (a broken Redis, a lost device, a thread that holds
 *     what others wait for) is cut off by a halt, status 1.
 * <li>An {@link Error} that no thread caught ends it, status 1: a thread that matters may be gone, and whoever runs this
 *     process starts it anew. Reactor's schedulers hand theirs to the same handler.
 * <li>A loop that can begin anew does so after any failure but a {@link #isFatal fatal} one, which it lets through.
 * </ul>
 *
 * <p>The heap's end never gets here where the JVM runs with {@code -XX:+ExitOnOutOfMemoryError}, as it should: it exits
 * with status 3, at once. One that runs without it is {@link #warnUnlessMemoryEndsIt told} so.
 */
public final class ProcessEnd {

    /** For an orderly end after an error; more than a server's 30 s for its last requests and an engine's 10 together. */
    public static final Duration GRACE_AFTER_ERROR = Duration.ofSeconds(45);

    private static final Logger log = System.getLogger(ProcessEnd.class.getName());
    private static final String EXIT_FLAG = "ExitOnOutOfMemoryError";
    private static final int FAILED = 1;
    private static final Duration LONGEST_LAST_WORD = Duration.ofSeconds(1);

    private ProcessEnd() {}

    /**
     * Puts this process under the rules. To be called once, first thing in {@code main}.
     *
     * @param deadline from the wish to stop to the halt; asked when that wish comes
     */
    public static void guard(Supplier<Duration> deadline) {
        Runtime.getRuntime().addShutdownHook(Thread.ofPlatform().name("process-end").unstarted(
                () -> haltIfStillThereAfter(deadline.get())));
        Thread.setDefaultUncaughtExceptionHandler((thread, thrown) -> {
            String sentence = "nobody caught this in thread " + thread.getName();
            if (thrown instanceof Error) {
                afterError(sentence + ", the process ends", thrown, GRACE_AFTER_ERROR);
            } else {
                log.log(Level.ERROR, sentence, thrown);
            }
        });
    }

    /** Says once if the JVM would go on after an {@link OutOfMemoryError}. For the start, when logging works. */
    public static void warnUnlessMemoryEndsIt() {
        var machine = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
        if (machine == null || !Boolean.parseBoolean(machine.getVMOption(EXIT_FLAG).getValue())) {
            log.log(Level.WARNING, "this process runs without -XX:+" + EXIT_FLAG
                    + ": out of memory, it may stay and answer nobody");
        }
    }

    /**
     * No memory, or a JVM that is broken: nothing in this process can be relied on any more. A stack that overflowed is
     * not among them, it was one computation that went too deep.
     */
    public static boolean isFatal(Throwable thrown) {
        return thrown instanceof VirtualMachineError && !(thrown instanceof StackOverflowError);
    }

    /** For a loop that caught everything and goes on: throws this again if it must not. */
    public static void rethrowIfFatal(Throwable thrown) {
        if (isFatal(thrown)) {
            throw (VirtualMachineError) thrown;
        }
    }

    /**
     * Ends this process with status 1. Returns at once: the caller may be one that the end waits for.
     *
     * @param grace for an orderly end
     */
    public static void afterError(String sentence, Throwable cause, Duration grace) {
        haltIfStillThereAfter(grace);                              // first of all: logging may hang or fail
        try {
            log.log(Level.ERROR, sentence, cause);
        } finally {
            startOrHalt("process-exit", () -> System.exit(FAILED));
        }
    }

    /**
     * Does what may hang, such as an end in order that the process outlives, on this thread.
     *
     * @param grace until the process is halted, status 1, because of it
     */
    public static void halting(Duration grace, Runnable work) {
        var done = new AtomicBoolean();
        haltAfter(grace, done);
        try {
            work.run();
        } finally {
            done.set(true);
        }
    }

    private static void haltIfStillThereAfter(Duration grace) {
        haltAfter(grace, /* never done */ new AtomicBoolean());
    }

    private static void haltAfter(Duration grace, AtomicBoolean unlessDone) {
        startOrHalt("process-deadline", () -> {
            sleep(grace);
            if (!unlessDone.get()) {
                sayLastWord("warmpath: the process has not come to its end in " + grace + ", it is halted");
                Runtime.getRuntime().halt(FAILED);
            }
        });
    }

    /** A daemon, since the JVM's end waits for the others. */
    private static void startOrHalt(String name, Runnable work) {
        try {
            Thread.ofPlatform().daemon().name(name).start(work);
        } catch (OutOfMemoryError noThreadLeft) {
            Runtime.getRuntime().halt(FAILED);
        }
    }

    /** Past the logging system, which has ended or hangs; nobody may read the pipe behind standard error either. */
    private static void sayLastWord(String sentence) {
        Thread speaker = Thread.ofPlatform().daemon().unstarted(() -> System.err.println(sentence));
        try {
            speaker.start();
            speaker.join(LONGEST_LAST_WORD);
        } catch (InterruptedException | OutOfMemoryError e) {
            // unsaid then
        }
    }

    private static void sleep(Duration time) {
        long endNanos = System.nanoTime() + time.toNanos();
        for (long left = time.toNanos(); left > 0; left = endNanos - System.nanoTime()) {
            try {
                Thread.sleep(Duration.ofNanos(left));
            } catch (InterruptedException e) {
                // nobody has a reason to; the time goes on
            }
        }
    }
}
