package dev.warmpath.worker.foreign.event;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.BlockExtraKeys;
import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.worker.foreign.event.EngineEvent.Place;
import dev.warmpath.worker.foreign.event.EngineEvent.Removed;
import dev.warmpath.worker.foreign.event.EngineEvent.Stored;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The books against maps that are obviously right, through random stores and removals in any order. */
class EngineBlocksModelTest {

    private static final int STEPS = 20_000;
    private static final Place GPU = new Place("GPU", false, 0);
    private static final int[] CHILDREN = {1, 2, 3};

    /** A block of two tokens: the path from the root as digits of its handle. */
    private static final class Node {
        private final @Nullable Long parent;
        private final long key;
        private int copies = 1;

        private Node(@Nullable Long parent, long key) {
            this.parent = parent;
            this.key = key;
        }
    }

    private final long seed = new Random().nextLong();
    private final Random random = new Random(seed);
    private final EngineBlocks blocks = new EngineBlocks(HashSettings.ofBlockSize(2), 1_000);
    private final Map<Long, Node> model = new HashMap<>();
    private final Map<Long, Long> keyOfParent = new HashMap<>();
    private final Set<Long> announced = new HashSet<>();

    @Test
    void the_announced_set_is_that_of_the_obvious_books_and_closed_under_parents_after_every_key() {
        int largest = 0;
        for (int step = 0; step < STEPS; step++) {
            int dice = random.nextInt(1000);
            EngineEvent event = dice == 0 ? new EngineEvent.Cleared() : dice < 550 ? store() : remove();
            for (BlockChange change : blocks.apply(List.of(event))) {
                follow(change);
            }
            assertThat(announced).as("seed %d, step %d", seed, step).containsExactlyInAnyOrderElementsOf(
                    model.values().stream().map(node -> node.key).toList());
            largest = Math.max(largest, announced.size());
        }
        assertThat(largest).as("seed %d", seed).isGreaterThan(20);
    }

    private EngineEvent store() {
        int depth = random.nextInt(5);                                      // of the parent; 0: a prompt's beginning
        long parent = path(0, depth);
        int count = 1 + random.nextInt(3);
        long[] handles = new long[count];
        long last = parent;
        for (int i = 0; i < count; i++) {
            last = path(last, 1);
            handles[i] = last;
        }
        if (depth == 0 || model.containsKey(parent)) {
            @Nullable Long above = depth == 0 ? null : parent;
            for (long handle : handles) {
                Node known = model.get(handle);
                if (known == null) {
                    model.put(handle, new Node(above, key(handle)));
                } else {
                    known.copies++;
                }
                above = handle;
            }
        }
        int[] tokens = LongStream.of(handles).flatMap(handle -> LongStream.of(7, handle % 10))
                .mapToInt(token -> (int) token).toArray();
        return new Stored(handles, depth == 0 ? null : parent, tokens, 2, GPU, "full_attention",
                Collections.nCopies(count, BlockExtraKeys.NONE));
    }

    private EngineEvent remove() {
        long[] handles = LongStream.range(0, 1 + random.nextInt(3)).map(_ -> path(0, 1 + random.nextInt(7))).toArray();
        for (long handle : handles) {
            Node node = model.get(handle);
            if (node != null && --node.copies == 0) {
                removeWithDescendants(handle);
            }
        }
        return new Removed(handles, GPU);
    }

    private void removeWithDescendants(long handle) {
        model.remove(handle);
        List<Long> children = new ArrayList<>();
        model.forEach((child, node) -> {
            if (node.parent != null && node.parent == handle) {
                children.add(child);
            }
        });
        children.forEach(this::removeWithDescendants);
    }

    private void follow(BlockChange change) {
        switch (change) {
            case BlockChange.Stored(var _, var keys) -> LongStream.of(keys).forEach(key -> {
                Long parent = keyOfParent.get(key);
                assertThat(parent == 0 || announced.contains(parent)).as("seed %d", seed).isTrue();
                assertThat(announced.add(key)).as("seed %d", seed).isTrue();
            });
            case BlockChange.Removed(var _, var keys) -> LongStream.of(keys).forEach(key -> {
                assertThat(announced.remove(key)).as("seed %d", seed).isTrue();
                assertThat(announced).as("seed %d", seed).noneMatch(child -> keyOfParent.get(child) == key);
            });
            case BlockChange.Cleared() -> {
                announced.clear();
                model.clear();
            }
        }
    }

    private long path(long from, int length) {
        long path = from;
        for (int i = 0; i < length; i++) {
            path = path * 10 + CHILDREN[random.nextInt(CHILDREN.length)];
        }
        return path;
    }

    private long key(long handle) {
        String digits = Long.toString(handle);
        int[] tokens = new int[digits.length() * 2];
        for (int i = 0; i < digits.length(); i++) {
            tokens[2 * i] = 7;
            tokens[2 * i + 1] = digits.charAt(i) - '0';
        }
        BlockHashChain chain = BlockHashChain.of(HashSettings.ofBlockSize(2), ExtraKeys.NONE, tokens);
        int last = digits.length() - 1;
        keyOfParent.put(chain.key(last), last == 0 ? 0L : (Long) chain.key(last - 1));
        return chain.key(last);
    }
}
