package dev.warmpath.protocol.event;

import java.util.List;

/**
 * The changes of one or more engine steps, or a snapshot of the whole set, or a mark: no changes, and the number of the
 * batch before it once more. To whoever has that batch it is a repetition, which shows that nothing is missing; to
 * whoever lacks it, it is a gap.
 *
 * @param workerId  who announces
 * @param epoch     which life of that worker
 * @param sequence  1, 2, 3 … within the epoch; for a snapshot or a mark that of the last batch before it (0: none)
 * @param snapshot  true if the changes describe the whole set from empty on
 * @param changes   in order of happening
 * @param setSize   number of announced keys after this batch
 * @param setDigest {@link KeySetDigest} of the announced keys after this batch
 */
public record KvEventBatch(
        String workerId,
        long epoch,
        long sequence,
        boolean snapshot,
        List<BlockChange> changes,
        int setSize,
        long setDigest) {

    public KvEventBatch {
        if (sequence < (snapshot || changes.isEmpty() ? 0 : 1)) {
            throw new EventFormatException("sequence " + sequence + " is not possible");
        }
        if (setSize < 0) {
            throw new EventFormatException("set size " + setSize + " is negative");
        }
        changes = List.copyOf(changes);
    }

    public boolean isMark() {
        return !snapshot && changes.isEmpty();
    }

    /** The mark to be put behind this batch. */
    public KvEventBatch mark() {
        return new KvEventBatch(workerId, epoch, sequence, false, List.of(), setSize, setDigest);
    }

    /** Keys that its changes name, each as often as it is named. */
    public int keyCount() {
        return changes.stream().mapToInt(BlockChange::keyCount).sum();
    }
}
