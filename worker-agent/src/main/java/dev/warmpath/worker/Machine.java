package dev.warmpath.worker;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Pattern;

/** What this machine has, or the container that this process runs in. */
final class Machine {

    private static final Path MEMORY_INFO = Path.of("/proc/meminfo");
    private static final Pattern AVAILABLE = Pattern.compile("MemAvailable: *(\\d{1,15}) kB");

    private Machine() {}

    /** Bytes of memory: the container's limit, if it has one. */
    static long memory() {
        return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getTotalMemorySize();
    }

    /** Bytes that nobody uses now, or would give up; {@link Long#MAX_VALUE} where nobody says. */
    static long availableMemory() {
        try {
            var available = AVAILABLE.matcher(Files.readString(MEMORY_INFO));
            return available.find() ? Long.parseLong(available.group(1)) << 10 : Long.MAX_VALUE;
        } catch (IOException e) {
            return Long.MAX_VALUE;
        }
    }
}
