package dev.warmpath.protocol.pool;

import dev.warmpath.protocol.event.EventFormatException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** A worker's pool as a reader of its frames knows it. One thread's. */
public final class PoolCopy {

    private @Nullable PoolFrame last;
    private int[] references = {};
    private boolean[] keyed = {};
    private long[] keys = {};
    private long[] lastUseMillis = {};

    /**
     * Brings the copy up to a frame.
     *
     * @throws EventFormatException if the frame changes another one than the last that was applied, or another pool;
     *                              nothing is changed then
     */
    public void apply(PoolFrame frame) {
        if (frame.whole()) {
            begin(frame.shape().blockCount());
        } else {
            requireNext(frame);
        }
        PoolBlocks blocks = frame.blocks();
        for (int i = 0; i < blocks.count(); i++) {
            int id = blocks.ids()[i];
            references[id] = blocks.references()[i];
            keyed[id] = blocks.keyed()[i];
            keys[id] = blocks.keys()[i];
            lastUseMillis[id] = blocks.lastUseMillis()[i];
        }
        last = frame;
    }

    private void begin(int blockCount) {
        if (references.length == blockCount) {
            Arrays.fill(references, 0);
            Arrays.fill(keyed, false);
            Arrays.fill(keys, 0);
            Arrays.fill(lastUseMillis, 0);
        } else {
            references = new int[blockCount];
            keyed = new boolean[blockCount];
            keys = new long[blockCount];
            lastUseMillis = new long[blockCount];
        }
    }

    private void requireNext(PoolFrame frame) {
        if (last == null) {
            throw new EventFormatException("frame " + frame.sample() + " of a pool changes one that did not come");
        }
        if (frame.sample() != last.sample() + 1 || !frame.shape().equals(last.shape())) {
            throw new EventFormatException("frame " + frame.sample() + " of " + frame.shape()
                    + " cannot come behind frame " + last.sample() + " of " + last.shape());
        }
    }

    /** The last frame, or null before the first. */
    public @Nullable PoolFrame last() {
        return last;
    }

    /** As of the last frame; 0 before the first. */
    public int blockCount() {
        return references.length;
    }

    public BlockState state(int block) {
        return BlockState.of(block, references[block], keyed[block]);
    }

    public int references(int block) {
        return references[block];
    }

    public boolean isKeyed(int block) {
        return keyed[block];
    }

    /** 0 where it carries none. */
    public long key(int block) {
        return keys[block];
    }

    /** Since the worker's start; 0 = never. */
    public long lastUseMillis(int block) {
        return lastUseMillis[block];
    }
}
