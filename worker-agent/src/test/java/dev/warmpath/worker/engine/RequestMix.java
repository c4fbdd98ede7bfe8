package dev.warmpath.worker.engine;

import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.cpu.ScalarBackend;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import dev.warmpath.worker.kvcache.FreeOrder;
import dev.warmpath.worker.scheduler.SchedulingPolicy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Requests and the circumstances in which they meet, all drawn from one seed. The first two requests come first and
 * grow side by side until together they are larger than the pool: whatever else is drawn, somebody is preempted.
 * @param blockCount      blocks of the pool, the null block included: the largest request and up to a third more
 * @param kernelBlockSize tokens in a block of the device
 * @param hostBlockCount  blocks of swap space
 * @param failure         turns from when the pool was too small to a step that fails, and so on; or {@link #NEVER}
 * @param failsWithSwap   the next step then fails before which blocks move to swap space, otherwise the next
 * @param cacheType       of keys and values
 */
record RequestMix(
        long seed, Device device, int blockSize, int kernelBlockSize, int blockCount, SwapSpace swapSpace,
        int hostBlockCount, boolean prefixCaching, FreeOrder freeOrder, double watermark, int maxBatchedTokens,
        int maxSequences, boolean chunkedPrefill, int longPrefillThreshold, SchedulingPolicy policy, int steps,
        boolean async, boolean reserveWholeSequence, int cacheAwareWindow, int failure,
        boolean failsWithSwap, CacheType cacheType, List<Ask> asks) {

    static final int NEVER = Integer.MAX_VALUE;
    static final int NO_LEADER = -1;
    /** Turn before which everybody has come. */
    static final int LAST_ARRIVAL = 60;
    static final float REPETITION_PENALTY = 1.7f;
    static final float MIN_P = 0.02f;
    static final int[] BIASED = {5, 6};
    static final float[] BIASES = {1, -2};
    static final int[] BANNED = {7};

    enum Device {
        SCALAR, VECTOR, VECTOR_ON_TWO_THREADS;

        ComputeBackend create(CacheType cacheType) {
            return switch (this) {
                case SCALAR -> new ScalarBackend(cacheType);
                case VECTOR -> new VectorBackend(1, cacheType);
                case VECTOR_ON_TWO_THREADS -> new VectorBackend(2, cacheType);
            };
        }
    }

    enum SwapSpace {
        /** Some victims find room, the others are recomputed. */
        TIGHT,
        /** Room for everybody. */
        AMPLE
    }

    /**
     * One request.
     * @param index      where it stands in the list; the key of its generator follows from it
     * @param leader     index of the request whose prompt it shares as a fork, or {@link #NO_LEADER}
     * @param maxTokens  tokens to generate at most
     * @param stopAt     the token that it generates at this index when it is alone ends it, where it comes first; its
     *                   leader's, if it has one; or {@link #NEVER}
     * @param turn       turn of the engine in which it is submitted
     * @param cancelTurn turn in which it is cancelled if it is still alive, or {@link #NEVER}
     */
    record Ask(int index, int leader, int[] prompt, int maxTokens, int stopAt, float temperature, int priority,
               int turn, int cancelTurn) {

        SamplingParameters sampling() {
            return new SamplingParameters(temperature, temperature == 0 ? 0 : 20, temperature == 0 ? 1 : 0.95f, index,
                    rules());
        }

        /**
         * Of one in three a penalty of what was there before, which is the same where an answer is asked for again as
         * part of a prompt; of another one what does not look back.
         */
        private LogitRules rules() {
            return switch (index % 3) {
                case 1 -> LogitRules.NONE.withPenalties(0, 0, REPETITION_PENALTY);
                case 2 -> LogitRules.NONE.withMinP(MIN_P).withBiases(BIASED, BIASES).withBadWords(BANNED);
                default -> LogitRules.NONE;
            };
        }

        /** @param alone what the request, or its leader, generates when it is alone and nothing stops it */
        StopConditions stop(int[] alone) {
            return new StopConditions(maxTokens, stopAt == NEVER ? new int[0] : new int[] {alone[stopAt]}, true);
        }

        @Override
        public String toString() {
            return "request %d: prompt %d, at most %d, temperature %s, priority %d, leader %d, turns %d to %d"
                    .formatted(index, prompt.length, maxTokens, temperature, priority, leader, turn, cancelTurn);
        }
    }

    /** @param groups of the cache, which all take their blocks from the pool */
    static RequestMix create(long seed, int vocabularySize, int contextLength, int groups) {
        var random = new SplittableRandom(seed);
        int blockSize = pick(random, 2, 4, 8, 16);
        int longest = random.nextInt(60, 150);
        int largest = groups * Math.ceilDiv(longest - 1, blockSize);
        int usable = largest + random.nextInt(largest / 3 + 1);
        int maxSequences = random.nextInt(2, 10);
        boolean chunked = random.nextInt(4) > 0;
        // of two or three, the victim is a long one, and would never find room
        SwapSpace swapSpace = maxSequences < 4 ? SwapSpace.AMPLE : pick(random, SwapSpace.values());
        List<Ask> asks = draw(random, vocabularySize, longest);
        int hostBlocks = switch (swapSpace) {
            case TIGHT -> Math.max(1, usable / 3);
            case AMPLE -> usable * asks.size();
        };
        return new RequestMix(seed, pick(random, Device.values()), blockSize, blockSize / pick(random, 1, 1, 2),
                usable + 1, swapSpace, hostBlocks, random.nextInt(5) > 0, pick(random, FreeOrder.values()),
                swapSpace == SwapSpace.TIGHT ? 0.0 : pick(random, 0.0, 0.1),
                chunked ? maxSequences + random.nextInt(80) : contextLength, maxSequences,
                chunked, chunked ? pick(random, 0, 5, 17) : 0, pick(random, SchedulingPolicy.values()),
                pick(random, 1, 1, 2, 4),
                random.nextBoolean(), random.nextBoolean(), pick(random, 0, 0, 4),
                pick(random, NEVER, 3, 7), random.nextBoolean(), pick(random, CacheType.F32, CacheType.BF16), asks);
    }

    private static List<Ask> draw(SplittableRandom random, int vocabularySize, int longest) {
        List<Ask> asks = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            int[] prompt = random.ints(random.nextInt(1, 12), 0, vocabularySize).toArray();
            asks.add(new Ask(i, NO_LEADER, prompt, longest - random.nextInt(longest / 10) - prompt.length, NEVER, 0,
                    0, 0, NEVER));
        }
        int[][] openings = new int[3][];
        Arrays.setAll(openings, _ -> random.ints(random.nextInt(8, longest / 2), 0, vocabularySize).toArray());
        int count = random.nextInt(12, 22);
        while (asks.size() < count) {
            int[] opening = openings[random.nextInt(3)];
            int shared = random.nextInt(opening.length + 1);
            int length = Math.max(1, shared + (random.nextInt(3) == 0 ? 0 : random.nextInt(longest / 3)));
            int[] prompt = random.ints(length, 0, vocabularySize).toArray();
            System.arraycopy(opening, 0, prompt, 0, Math.min(shared, length));
            int maxTokens = random.nextInt(1, Math.min(50, longest - length + 1));
            int priority = random.nextInt(3);
            int turn = random.nextInt(LAST_ARRIVAL);
            int leader = asks.size();
            int stopAt = random.nextInt(4) == 0 ? random.nextInt(maxTokens) : NEVER;
            int forks = random.nextInt(4) == 0 ? random.nextInt(1, 4) : 0;
            for (int fork = 0; fork <= forks; fork++) {
                asks.add(new Ask(asks.size(), fork == 0 ? NO_LEADER : leader, prompt, maxTokens, stopAt,
                        random.nextInt(forks == 0 ? 4 : 2) == 0 ? 0.8f : 0, priority, turn,
                        random.nextInt(6) == 0 ? turn + random.nextInt(40) : NEVER));
            }
        }
        return asks;
    }

    @SafeVarargs
    private static <T> T pick(SplittableRandom random, T... choices) {
        return choices[random.nextInt(choices.length)];
    }

    @Override
    public String toString() {
        return ("mix %d: %s, %s, %d blocks of %d on kernels of %d, %s swap space of %d, caching %s, %s, "
                + "watermark %s, %d tokens and %d sequences a step, chunked %s, threshold %d, %s, steps %d, "
                + "async %s, reserve %s, window %d, failure %d, with swap %s, %d requests").formatted(seed, device,
                cacheType, blockCount, blockSize, kernelBlockSize, swapSpace, hostBlockCount, prefixCaching, freeOrder,
                watermark, maxBatchedTokens, maxSequences, chunkedPrefill, longPrefillThreshold, policy, steps, async,
                reserveWholeSequence, cacheAwareWindow, failure, failsWithSwap, asks.size());
    }
}
