package dev.warmpath.benchmarks.gateway;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/** A process and those that it started, as the operating system counts them. */
record ProcessTree(ProcessHandle root) {

    private static final String RESIDENT = "VmRSS:";
    private static final long TICK_NANOS = 10_000_000;
    /** Fields of the first line of /proc/stat: proc_stat(5). */
    private static final int IDLE = 4;
    private static final int WAITING_FOR_DISK = 5;
    private static final int STEAL = 8;

    /** Processor time of all threads, in user and system mode; counted in ticks of 10 ms. */
    long cpuNanos() {
        return sum(each -> each.info().totalCpuDuration().orElse(Duration.ZERO).toNanos());
    }

    /** Of all processes of the machine together, and what its host takes away. */
    static long machineCpuNanos() {
        try (Stream<String> lines = Files.lines(Path.of("/proc/stat"))) {
            String[] fields = lines.findFirst().orElseThrow().split(" +");
            long ticks = 0;
            for (int i = 1; i <= STEAL; i++) {
                ticks += i == IDLE || i == WAITING_FOR_DISK ? 0 : Long.parseLong(fields[i]);
            }
            return ticks * TICK_NANOS;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Resident memory; what processes share is counted for each of them. */
    long residentKib() {
        return sum(ProcessTree::residentKib);
    }

    private long sum(ToLongFunction<ProcessHandle> figure) {
        return Stream.concat(Stream.of(root), root.descendants()).mapToLong(figure).sum();
    }

    private static long residentKib(ProcessHandle process) {
        try (Stream<String> lines = Files.lines(Path.of("/proc", Long.toString(process.pid()), "status"))) {
            return lines.filter(line -> line.startsWith(RESIDENT))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", ""))).sum();
        } catch (IOException e) {
            return 0;                                              // it has ended
        }
    }
}
