package dev.warmpath.benchmarks.gateway;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/** A process and those that it started, as the operating system counts them. */
record ProcessTree(ProcessHandle root) {

    private static final String RESIDENT = "VmRSS:";

    /** Processor time of all threads, in user and system mode; counted in ticks of 10 ms. */
    long cpuNanos() {
        return sum(each -> each.info().totalCpuDuration().orElse(Duration.ZERO).toNanos());
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
