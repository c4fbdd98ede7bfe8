package dev.warmpath.benchmarks.prefix;

import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KeySetDigest;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.router.prefix.ApplyOutcome.Applied;
import dev.warmpath.router.prefix.KvEventApplier;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.router.prefix.WorkerKeys;
import java.util.List;

/** One worker of an index: makes its batches and, later and in the same order, has them applied. */
final class Announcer {

    final WorkerKeys keys;
    private final KvEventApplier applier;
    private final KeySetDigest digest = new KeySetDigest();
    private long sequence;

    /** @param blockCount most keys that it ever holds */
    Announcer(PrefixIndex index, int blockCount) {
        keys = index.add(blockCount, /* prefixClosed */ true);
        applier = new KvEventApplier("w", 1, keys);
    }

    /** Of everything at once, after nothing. */
    KvEventBatch snapshot(long[] held) {
        return stored(held, true);
    }

    KvEventBatch stored(long[] added) {
        sequence++;
        return stored(added, false);
    }

    KvEventBatch removed(long[] gone) {
        for (long key : gone) {
            digest.remove(key);
        }
        sequence++;
        return batch(false, new BlockChange.Removed(Medium.DEVICE, gone));
    }

    private KvEventBatch stored(long[] added, boolean snapshot) {
        for (long key : added) {
            digest.add(key);
        }
        return batch(snapshot, new BlockChange.Stored(Medium.DEVICE, added));
    }

    private KvEventBatch batch(boolean snapshot, BlockChange change) {
        return new KvEventBatch("w", 1, sequence, snapshot, List.of(change), digest.count(), digest.value());
    }

    void apply(KvEventBatch batch) {
        if (!(applier.apply(batch) instanceof Applied)) {
            throw new IllegalStateException("batch " + batch.sequence() + " was not applied");
        }
    }
}
