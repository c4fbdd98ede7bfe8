package dev.warmpath.worker.scheduler;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.kvcache.BlockCopies;
import dev.warmpath.worker.kvcache.BlockTable;
import dev.warmpath.worker.kvcache.CacheGroup;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToIntFunction;

/**
 * A device whose "keys and values" are fingerprints of all tokens up to their position. It runs what it is given at
 * once and in order, and before it draws a token, every slot that the token sees must hold the right fingerprint. So a
 * block that is shared too early, freed too early, hit wrongly, copied wrongly or kept after a failed step shows at
 * once, whatever the books say.
 */
final class FakeDevice {

    private static final int GARBAGE = -1;

    private final int blockSize;
    private final List<CacheGroup> groups;
    private final int[] slots;
    private final int[] hostSlots;
    private final List<Integer> hostBlocksSinceSettled = new ArrayList<>();
    private final ToIntFunction<List<Integer>> model;
    /** All tokens of each sequence, drawn ones that the scheduler does not know yet among them. */
    private final Map<Sequence, List<Integer>> truth = new IdentityHashMap<>();
    private int[] drawnBefore = {};

    /** @param model what is drawn after these tokens */
    FakeDevice(KvCacheSettings settings, ToIntFunction<List<Integer>> model) {
        this.blockSize = settings.blockSize();
        this.groups = settings.groups();
        this.slots = new int[settings.blockCount() * blockSize];
        this.hostSlots = new int[settings.hostBlockCount() * blockSize];
        this.model = model;
    }

    void copy(BlockCopies copies) {
        for (int i = 0; i < copies.size(); i++) {
            int[] from = copies.direction(i) == BlockCopies.Direction.TO_DEVICE ? hostSlots : slots;
            int[] to = copies.direction(i) == BlockCopies.Direction.TO_HOST ? hostSlots : slots;
            System.arraycopy(from, copies.source(i) * blockSize, to, copies.target(i) * blockSize, blockSize);
            if (to == hostSlots) {
                hostBlocksSinceSettled.add(copies.target(i));
            }
        }
        copies.clear();
    }

    /** @return the drawn tokens, by step and sample index */
    int[][] run(ScheduledBatch batch) {
        int[][] drawn = new int[batch.stepCount()][];
        for (int step = 0; step < batch.stepCount(); step++) {
            for (int entry = 0; entry < batch.size(); entry++) {
                store(batch, entry, step);
            }
            drawn[step] = new int[batch.rowCount(step)];
            for (int entry = 0; entry < batch.size(); entry++) {
                verifyAndDraw(batch, entry, step, drawn[step]);
            }
            drawnBefore = drawn[step];
        }
        return drawn;
    }

    /** True if some block has the content, of the first group, of the last block of so many tokens. */
    boolean holds(int[] tokens, int tokenCount) {
        int[] content = new int[blockSize];
        int fingerprint = 0;
        for (int position = 0; position < tokenCount; position++) {
            fingerprint = 31 * fingerprint + tokens[position] + 1;
            content[position % blockSize] = fingerprint;
        }
        for (int from = blockSize; from < slots.length; from += blockSize) {
            if (Arrays.equals(slots, from, from + blockSize, content, 0, blockSize)) {
                return true;
            }
        }
        return false;
    }

    void settled() {
        hostBlocksSinceSettled.clear();
    }

    /** What these batches wrote, and what was copied to the host for them, is lost. */
    void fail(Iterable<ScheduledBatch> batches) {
        for (ScheduledBatch batch : batches) {
            for (int entry = 0; entry < batch.size(); entry++) {
                for (int group = 0; group < groups.size(); group++) {
                    BlockTable table = batch.sequence(entry).tokens().table(group);
                    int end = batch.firstPosition(entry) + batch.tokenCount(entry) + batch.drawCount(entry) - 1;
                    for (int position = batch.firstPosition(entry); position < end; position++) {
                        if (position / blockSize < table.blockCount()) {
                            slots[table.slot(position)] = GARBAGE;
                        }
                    }
                }
            }
        }
        for (int block : hostBlocksSinceSettled) {
            Arrays.fill(hostSlots, block * blockSize, (block + 1) * blockSize, GARBAGE);
        }
        hostBlocksSinceSettled.clear();
    }

    private void store(ScheduledBatch batch, int entry, int step) {
        if (step > 0 && batch.drawCount(entry) <= step) {
            return;
        }
        Sequence sequence = batch.sequence(entry);
        List<Integer> tokens = tokens(sequence);
        int first = first(batch, entry, step);
        int end = end(batch, entry, step);
        for (int position = first; position < end; position++) {
            int feed = batch.feedIndex(entry, step);
            int input = feed == ScheduledBatch.NO_SAMPLE ? sequence.tokens().token(position) : drawnBefore[feed];
            assertThat(input).as("input of %s at %d", sequence, position).isEqualTo(tokens.get(position));
        }
        for (int group = 0; group < groups.size(); group++) {
            int fingerprint = group;
            for (int position = 0; position < end; position++) {
                fingerprint = 31 * fingerprint + tokens.get(position) + 1;
                if (position >= first) {
                    int slot = sequence.tokens().table(group).slot(position);
                    assertThat(slot).as("slot of %s at %d", sequence, position).isGreaterThanOrEqualTo(blockSize);
                    slots[slot] = fingerprint;
                }
            }
        }
    }

    private void verifyAndDraw(ScheduledBatch batch, int entry, int step, int[] drawn) {
        if (step > 0 && batch.drawCount(entry) <= step) {
            return;
        }
        Sequence sequence = batch.sequence(entry);
        verify(sequence, first(batch, entry, step), end(batch, entry, step));
        int sample = batch.sampleIndex(entry, step);
        if (sample != ScheduledBatch.NO_SAMPLE) {
            List<Integer> tokens = tokens(sequence);
            assertThat(tokens).as("tokens of %s", sequence).hasSize(end(batch, entry, step));
            drawn[sample] = model.applyAsInt(tokens);
            tokens.add(drawn[sample]);
        }
    }

    private void verify(Sequence sequence, int first, int end) {
        List<Integer> tokens = tokens(sequence);
        for (int group = 0; group < groups.size(); group++) {
            int seen = switch (groups.get(group)) {
                case CacheGroup.FullAttention() -> 0;
                case CacheGroup.SlidingWindow(int window, _) -> Math.max(0, first - window + 1);
            };
            BlockTable table = sequence.tokens().table(group);
            int fingerprint = group;
            for (int position = 0; position < end; position++) {
                fingerprint = 31 * fingerprint + tokens.get(position) + 1;
                if (position >= seen && slots[table.slot(position)] != fingerprint) {
                    throw new AssertionError("position " + position + " of " + end + " of " + sequence
                            + " is not in its slot, group " + group + ", table " + table);
                }
            }
        }
    }

    private static int first(ScheduledBatch batch, int entry, int step) {
        return step == 0 ? batch.firstPosition(entry) : end(batch, entry, step) - 1;
    }

    private static int end(ScheduledBatch batch, int entry, int step) {
        return batch.firstPosition(entry) + batch.tokenCount(entry) + step;
    }

    private List<Integer> tokens(Sequence sequence) {
        return truth.computeIfAbsent(sequence, _ -> {
            List<Integer> tokens = new ArrayList<>();
            for (int position = 0; position < sequence.tokens().tokenCount(); position++) {
                tokens.add(sequence.tokens().token(position));
            }
            return tokens;
        });
    }
}
