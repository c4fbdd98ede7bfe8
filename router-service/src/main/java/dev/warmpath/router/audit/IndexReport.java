package dev.warmpath.router.audit;

import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * What lies in Redis and whether it holds, as {@link IndexAudit} found it.
 *
 * @param server  host and port, no credentials
 * @param keys    different blocks in the index that a router would build from it
 * @param entries pairs of a worker and a block in that index
 */
record IndexReport(String server, long keys, long entries, List<WorkerReport> workers, List<StreamReport> streams) {

    /**
     * One worker.
     *
     * @param alive    its lease runs; what the others left behind expires
     * @param sequence the last batch in its set; null without a usable checkpoint
     * @param keys     size of its set, by checkpoint and stream
     * @param problems what does not hold, in sentences
     */
    record WorkerReport(String id, long epoch, boolean alive, @Nullable Long sequence, int keys,
            @Nullable CheckpointReport checkpoint, List<String> problems) {}

    /**
     * A worker's checkpoint.
     *
     * @param entriesSince entries of its stream behind it, other workers' among them: what a starting router reads
     */
    record CheckpointReport(long sequence, int keys, int bytes, String streamId, long entriesSince) {}

    /** @param unreadable entries that are no batch */
    record StreamReport(String name, String end, long entriesRead, long unreadable) {}

    boolean holds() {
        return workers.stream().allMatch(worker -> worker.problems().isEmpty())
                && streams.stream().allMatch(stream -> stream.unreadable() == 0);
    }

    /** For people. */
    String text() {
        var text = new StringBuilder(String.format(Locale.ROOT, "Redis at %s%n%n%-24s %20s %6s %10s %10s   %s%n",
                server, "worker", "epoch", "lease", "sequence", "keys", "checkpoint"));
        for (WorkerReport worker : workers) {
            text.append(String.format(Locale.ROOT, "%-24s %20d %6s %10s %,10d   %s%n", worker.id(), worker.epoch(),
                    worker.alive() ? "yes" : "ended", worker.sequence() == null ? "-" : worker.sequence(),
                    worker.keys(), describe(worker.checkpoint())));
        }
        long read = streams.stream().mapToLong(StreamReport::entriesRead).sum();
        text.append(String.format(Locale.ROOT, "%n%d workers, %,d pairs of worker and block, %,d different blocks; "
                + "%,d stream entries read%n", workers.size(), entries, keys, read));
        for (WorkerReport worker : workers) {
            worker.problems().forEach(problem -> text.append("PROBLEM: worker ").append(worker.id()).append(": ")
                    .append(problem).append(System.lineSeparator()));
        }
        for (StreamReport stream : streams) {
            if (stream.unreadable() > 0) {
                text.append("PROBLEM: ").append(stream.unreadable()).append(" entries of ").append(stream.name())
                        .append(" cannot be read").append(System.lineSeparator());
            }
        }
        return text.append(holds() ? "all of it holds" : "not all of it holds").append(System.lineSeparator())
                .toString();
    }

    private static String describe(@Nullable CheckpointReport checkpoint) {
        return checkpoint == null ? "none" : String.format(Locale.ROOT, "sequence %d, %,d keys, %,d bytes, %,d entries "
                + "since", checkpoint.sequence(), checkpoint.keys(), checkpoint.bytes(), checkpoint.entriesSince());
    }
}
