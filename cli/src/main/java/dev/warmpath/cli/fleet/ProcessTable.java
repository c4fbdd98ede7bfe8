package dev.warmpath.cli.fleet;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;

/** What the system tells of processes that may be anybody's. */
public final class ProcessTable {

    private static final Path PROC = Path.of("/proc");
    private static final int HUNDREDTHS = 100;
    /** Of a line of {@code /proc/PID/stat}, behind the command's name: state, times of user and system, start. */
    private static final int STATE = 0;
    private static final int USER_TIME = 11;
    private static final int SYSTEM_TIME = 12;
    private static final int START = 19;

    private ProcessTable() {}

    /**
     * When it started, in one word; where there is {@code /proc}, a clock set anew changes nothing.
     *
     * @return empty if it has ended
     */
    public static String startedAt(long pid) {
        if (Files.isDirectory(PROC.resolve("self"))) {
            String[] fields = fields(pid);
            return fields.length <= START || fields[STATE].equals("Z") ? "" : fields[START];
        }
        return ProcessHandle.of(pid).filter(ProcessHandle::isAlive).flatMap(process -> process.info().startInstant())
                .map(Instant::toEpochMilli).map(String::valueOf).orElse("");
    }

    /** A pid alone may belong to somebody else by now; pid and start time together are ours. */
    public static boolean isOurs(long pid, String started) {
        return !started.isEmpty() && startedAt(pid).equals(started);
    }

    /** @return processor time that it has used, in hundredths of a second; 0 if it has ended */
    static long cpuHundredths(long pid) {
        String[] fields = fields(pid);
        if (fields.length > SYSTEM_TIME) {
            return Long.parseLong(fields[USER_TIME]) + Long.parseLong(fields[SYSTEM_TIME]);
        }
        return ProcessHandle.of(pid).flatMap(process -> process.info().totalCpuDuration())
                .map(Duration::toMillis).map(millis -> millis * HUNDREDTHS / 1000).orElse(0L);
    }

    /** A name may hold blanks and brackets: what follows the last bracket is counted. */
    private static String[] fields(long pid) {
        try {
            String line = Files.readString(PROC.resolve(pid + "/stat"), StandardCharsets.ISO_8859_1);
            return line.substring(line.lastIndexOf(')') + 2).split(" ");
        } catch (IOException e) {
            return new String[0];
        }
    }
}
