package dev.warmpath.worker.foreign.event;

import dev.warmpath.protocol.block.BlockExtraKeys;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * What an engine's events say that its device holds of prompts without salt or adapter, reckoned without hashes: the
 * token ids from a prompt's beginning to a block's end stand for the block.
 */
public final class HeldPrompts {

    /** By the engine's name for a block. */
    private final Map<Long, List<Integer>> prompts = new HashMap<>();
    private final Map<Long, Integer> copies = new HashMap<>();
    /** Of all prompts that were ever stored, gone or not: tokens, and tokens of a block. */
    private final Map<List<Integer>, Integer> seen = new LinkedHashMap<>();

    /**
     * @param tokens     of whole blocks
     * @param heldBlocks leading blocks that are held
     */
    public record Prompt(int[] tokens, int heldBlocks) {}

    public void apply(byte[] payload) {
        for (EngineEvent event : EngineEventDecoder.decode(payload).events()) {
            switch (event) {
                case EngineEvent.Stored stored -> {
                    if (stored.place().isDevice()) {
                        store(stored);
                    }
                }
                case EngineEvent.Removed removed -> {
                    if (removed.place().isDevice()) {
                        remove(removed.handles());
                    }
                }
                case EngineEvent.Cleared() -> forget();
            }
        }
    }

    private void store(EngineEvent.Stored stored) {
        @Nullable List<Integer> before = stored.parent() == null ? List.of() : prompts.get(stored.parent());
        for (int i = 0; i < stored.handles().length && before != null; i++) {
            if (i >= stored.extraKeys().size() || !stored.extraKeys().get(i).equals(BlockExtraKeys.NONE)) {
                return;                                            // and what follows is of no plain prompt either
            }
            List<Integer> prompt = new ArrayList<>(before);
            IntStream.range(i * stored.blockSize(), (i + 1) * stored.blockSize())
                    .forEach(place -> prompt.add(stored.tokens()[place]));
            prompts.put(stored.handles()[i], prompt);
            copies.merge(stored.handles()[i], 1, Integer::sum);
            seen.put(prompt, stored.blockSize());
            before = prompt;
        }
    }

    private void remove(long[] handles) {
        for (long handle : handles) {
            copies.computeIfPresent(handle, (_, count) -> count == 1 ? null : count - 1);
        }
        prompts.keySet().retainAll(copies.keySet());
    }

    /** Nothing is known any more, as after a restart. */
    public void forget() {
        prompts.clear();
        copies.clear();
    }

    /** All that were ever stored, the whole ones and their beginnings. */
    public List<Prompt> all() {
        Set<List<Integer>> held = new HashSet<>(prompts.values());
        return seen.entrySet().stream().map(each -> prompt(each.getKey(), each.getValue(), held)).toList();
    }

    private static Prompt prompt(List<Integer> tokens, int blockSize, Set<List<Integer>> held) {
        int blocks = 0;
        while ((blocks + 1) * blockSize <= tokens.size()
                && held.contains(tokens.subList(0, (blocks + 1) * blockSize))) {
            blocks++;
        }
        return new Prompt(tokens.stream().mapToInt(Integer::intValue).toArray(), blocks);
    }
}
