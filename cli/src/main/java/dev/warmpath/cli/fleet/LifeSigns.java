package dev.warmpath.cli.fleet;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;

/**
 * Tells a start that takes long from one that hangs: it goes on as long as something moves, however slow the machine
 * is. What moves is processor time and the log. What passes between two looks counts for 10 s at most: the machine may
 * have been asleep, or this program may not have run.
 */
public final class LifeSigns {

    private static final Duration LONGEST_STEP = Duration.ofSeconds(10);
    private static final String BEFORE_MESSAGE = " : ";
    private static final int MESSAGE_LENGTH = 90;

    private final Duration patience;
    private String signs = "";
    private Duration idle = Duration.ZERO;
    private long lookedNanos;

    /** @param patience how long nothing may move */
    public LifeSigns(Duration patience, long nowNanos) {
        this.patience = patience;
        this.lookedNanos = nowNanos;
    }

    /** Whole seconds of processor time: a JVM that only waits uses a hundredth now and then. */
    public static String of(long pid, Path log) {
        return ProcessTable.cpuHundredths(pid) / 100 + "/" + log.toFile().length();
    }

    /** @return whether these signs have been the same for too long */
    public boolean stalls(String signs, long nowNanos) {
        Duration step = Duration.ofNanos(nowNanos - lookedNanos);
        lookedNanos = nowNanos;
        if (!signs.equals(this.signs)) {
            this.signs = signs;
            idle = Duration.ZERO;
            return false;
        }
        idle = idle.plus(step.compareTo(LONGEST_STEP) < 0 ? step : LONGEST_STEP);
        return idle.compareTo(patience) >= 0;
    }

    /** The message of a log's last line, without time, level and thread; as much as fits in a line. */
    public static String lastMessage(Path log) {
        String message = wholeLastMessage(log);
        return message.isEmpty() ? "has not said anything yet"
                : message.substring(0, Math.min(message.length(), MESSAGE_LENGTH));
    }

    /** All of it; empty if there is none. */
    public static String wholeLastMessage(Path log) {
        String line = LogTail.lines(log, 1).stream().findFirst().orElse("");
        int end = line.lastIndexOf(BEFORE_MESSAGE);
        return end < 0 ? line : line.substring(end + BEFORE_MESSAGE.length());
    }

    /** Whether a log has a line with this in it. */
    public static boolean hasSaid(Path log, String text) {
        try {
            return Files.exists(log) && Files.readString(log, ISO_8859_1).contains(text);
        } catch (IOException e) {
            return false;
        }
    }
}
