package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.Sequences.sequence;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.event.BlockChange;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Random runs against a model of lists and maps in which a block is known by the text of all tokens up to its end. The
 * model foretells every table, count and queue position; the announced set must follow and stay closed under parents.
 */
class KvCacheModelTest {

    private static final int OPERATIONS_PER_RUN = 50_000;
    private static final int MAX_LIVE = 5;
    private static final int MAX_TOKENS = 26;

    @ParameterizedTest(name = "seed {0}: {1} blocks of {2}, caching {3}")
    @CsvSource({"1, 12, 2, true", "2, 24, 3, true", "3, 7, 4, true", "4, 12, 2, false"})
    void every_answer_agrees_with_an_obvious_model(long seed, int blockCount, int blockSize, boolean caching) {
        var run = new Run(seed, blockCount, blockSize, caching);
        for (int i = 0; i < OPERATIONS_PER_RUN; i++) {
            try {
                run.operate();
                run.compare();
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("seed " + seed + ", operation " + i, e);
            }
        }
        assertThat(run.hits > 0).as("there were hits").isEqualTo(caching);
        assertThat(run.refusals).as("there were refusals").isPositive();
    }

    private static final class Run {
        private final Random random;
        private final int blockSize;
        private final KvCacheManager cache;
        private final Model model;
        private final List<Live> live = new ArrayList<>();
        private final List<int[]> waiting = new ArrayList<>();
        private final Set<Long> announced = new HashSet<>();
        private final Map<Long, Long> parents = new HashMap<>();
        private long hits;
        private long refusals;

        Run(long seed, int blockCount, int blockSize, boolean caching) {
            this.random = new Random(seed);
            this.blockSize = blockSize;
            this.cache = new KvCacheManager(
                    KvCacheSettings.of(blockCount, blockSize).withPrefixCaching(caching));
            this.model = new Model(blockCount, blockSize, caching);
        }

        void operate() {
            int dice = random.nextInt(100);
            if (dice < 30) {
                admit();
            } else if (dice < 70) {
                extend();
            } else if (dice < 88) {
                release();
            } else if (dice < 92) {
                preempt();
            } else if (dice < 96) {
                fail();
            } else if (dice < 97) {
                assertThat(cache.resetPrefixCache()).isEqualTo(model.reset());
            } else {
                drain();
            }
        }

        void compare() {
            assertThat(cache.pool().freeListing()).containsExactly(model.queue());
            for (Live each : live) {
                assertThat(each.sequence.table().toArray()).containsExactly(ints(each.table));
            }
            cache.checkIntegrity(live.stream().map(each -> each.sequence).toList());
        }

        private void admit() {
            if (live.size() == MAX_LIVE) {
                return;
            }
            boolean resume = !waiting.isEmpty() && random.nextBoolean();
            TokenSequence sequence = sequence(blockSize, resume ? waiting.removeLast() : randomTokens());
            rememberParents(sequence);
            PrefixHit hit = cache.match(sequence);
            List<Integer> expected = model.match(tokens(sequence));
            assertThat(hit.toArray(0)).containsExactly(ints(expected));
            int count = 1 + random.nextInt(sequence.tokenCount() - hit.tokenCount());
            var each = new Live(sequence);
            boolean admitted = cache.admit(sequence, hit, count);
            assertThat(admitted).isEqualTo(model.admit(each, expected, count));
            if (admitted) {
                live.add(each);
                hits += hit.blockCount();
            } else {
                refusals++;
            }
        }

        private void extend() {
            if (live.isEmpty()) {
                return;
            }
            Live each = live.get(random.nextInt(live.size()));
            if (each.sequence.uncomputedTokens() == 0) {
                if (each.sequence.tokenCount() == MAX_TOKENS) {
                    return;
                }
                each.sequence.append(random.nextInt(2));
                rememberParents(each.sequence);
            }
            int count = 1 + random.nextInt(each.sequence.uncomputedTokens());
            boolean extended = cache.extend(each.sequence, count);
            assertThat(extended).isEqualTo(model.extend(each, count));
            refusals += extended ? 0 : 1;
        }

        private void release() {
            if (!live.isEmpty()) {
                Live each = live.remove(random.nextInt(live.size()));
                cache.release(each.sequence);
                model.release(each);
            }
        }

        private void preempt() {
            if (!live.isEmpty()) {
                Live last = live.removeLast();
                waiting.add(tokens(last.sequence));
                cache.release(last.sequence);
                model.release(last);
            }
        }

        /** A step of one new sequence that fails: what it stored is withdrawn, what it evicted stays gone. */
        private void fail() {
            int before = live.size();
            admit();
            if (live.size() > before) {
                Live failed = live.removeLast();
                cache.withdraw(failed.sequence);
                cache.release(failed.sequence);
                model.withdraw(failed);
                model.release(failed);
            }
        }

        private void drain() {
            for (BlockChange change : cache.drainChanges()) {
                switch (change) {
                    case BlockChange.Cleared() -> announced.clear();
                    case BlockChange.Removed(var medium, var keys) -> {
                        for (long key : keys) {
                            assertThat(announced.remove(key)).as("removed what was there").isTrue();
                            assertThat(announced).noneMatch(child -> parents.get(child) == key);
                        }
                    }
                    case BlockChange.Stored(var medium, var keys) -> {
                        for (long key : keys) {
                            long parent = parents.get(key);
                            assertThat(parent == 0 || announced.contains(parent)).as("parent first").isTrue();
                            assertThat(announced.add(key)).as("stored what was not there").isTrue();
                        }
                    }
                }
            }
            assertThat(Arrays.stream(cache.announcedKeys()).boxed()).containsExactlyInAnyOrderElementsOf(announced);
            assertThat(announced).hasSize(model.blocksByText.size());
        }

        private void rememberParents(TokenSequence sequence) {
            sequence.hash();
            for (int index = 0; index < sequence.chain().blockCount(); index++) {
                parents.put(sequence.chain().key(index), index == 0 ? 0L : sequence.chain().key(index - 1));
            }
        }

        private int[] randomTokens() {
            return random.ints(1 + random.nextInt(MAX_TOKENS - 6), 0, 2).toArray();
        }
    }

    /** A live sequence, with what the model knows about it. */
    private static final class Live {
        private final TokenSequence sequence;
        private final List<Integer> table = new ArrayList<>();
        private int computed;
        private int keyed;
        private int keyedBeforeStep;

        Live(TokenSequence sequence) {
            this.sequence = sequence;
        }
    }

    private static final class Model {
        private final int blockSize;
        private final boolean caching;
        private final LinkedList<Integer> queue = new LinkedList<>();
        private final Map<Integer, Integer> references = new HashMap<>();
        private final Map<String, LinkedHashSet<Integer>> blocksByText = new LinkedHashMap<>();
        private final Map<Integer, String> textOfBlock = new HashMap<>();

        Model(int blockCount, int blockSize, boolean caching) {
            this.blockSize = blockSize;
            this.caching = caching;
            for (int block = 1; block < blockCount; block++) {
                queue.add(block);
            }
        }

        int[] queue() {
            return ints(queue);
        }

        List<Integer> match(int[] tokens) {
            var hit = new ArrayList<Integer>();
            for (int end = blockSize; end <= tokens.length - 1 && blocksByText.containsKey(text(tokens, end));
                    end += blockSize) {
                hit.add(blocksByText.get(text(tokens, end)).getFirst());
            }
            return hit;
        }

        boolean admit(Live live, List<Integer> hit, int count) {
            int tokens = hit.size() * blockSize + count;
            int fresh = (tokens + blockSize - 1) / blockSize - hit.size();
            if (fresh + hit.stream().filter(queue::contains).count() > queue.size()) {
                return false;
            }
            for (Integer block : hit) {
                queue.remove(block);
                references.merge(block, 1, Integer::sum);
                live.table.add(block);
            }
            live.computed = hit.size() * blockSize;
            live.keyed = hit.size();
            return extend(live, count);
        }

        boolean extend(Live live, int count) {
            int fresh = (live.computed + count + blockSize - 1) / blockSize - live.table.size();
            if (fresh > queue.size()) {
                return false;
            }
            for (int i = 0; i < fresh; i++) {
                Integer block = queue.removeFirst();
                forget(block);
                references.put(block, 1);
                live.table.add(block);
            }
            live.computed += count;
            live.keyedBeforeStep = live.keyed;
            while (caching && (live.keyed + 1) * blockSize <= live.computed) {
                Integer block = live.table.get(live.keyed);
                live.keyed++;
                String text = text(tokens(live.sequence), live.keyed * blockSize);
                textOfBlock.put(block, text);
                blocksByText.computeIfAbsent(text, t -> new LinkedHashSet<>()).add(block);
            }
            return true;
        }

        void withdraw(Live live) {
            for (int i = live.keyedBeforeStep; i < live.keyed; i++) {
                forget(live.table.get(i));
            }
        }

        void release(Live live) {
            var unkeyed = new ArrayList<Integer>();
            for (Integer block : live.table.reversed()) {
                if (references.merge(block, -1, Integer::sum) == 0) {
                    if (textOfBlock.containsKey(block)) {
                        queue.addLast(block);
                    } else {
                        unkeyed.add(block);
                    }
                }
            }
            queue.addAll(0, unkeyed);
        }

        boolean reset() {
            if (references.values().stream().anyMatch(count -> count > 0)) {
                return false;
            }
            blocksByText.clear();
            textOfBlock.clear();
            return true;
        }

        private void forget(Integer block) {
            String text = textOfBlock.remove(block);
            if (text != null) {
                blocksByText.get(text).remove(block);
                if (blocksByText.get(text).isEmpty()) {
                    blocksByText.remove(text);
                }
            }
        }

        private static String text(int[] tokens, int end) {
            return Arrays.toString(Arrays.copyOf(tokens, end));
        }
    }

    private static int[] tokens(TokenSequence sequence) {
        int[] tokens = new int[sequence.tokenCount()];
        System.arraycopy(sequence.tokens(), 0, tokens, 0, tokens.length);
        return tokens;
    }

    private static int[] ints(List<Integer> numbers) {
        return numbers.stream().mapToInt(Integer::intValue).toArray();
    }
}
