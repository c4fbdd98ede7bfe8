package dev.warmpath.worker.scheduler;

import static dev.warmpath.worker.scheduler.Requests.request;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.kvcache.TokenSequence;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Random mixes of requests on pools far too small for them. The "device" keeps in every slot a fingerprint of all
 * tokens up to that position; before a token is drawn, every slot of its sequence has to hold the right one. So a block
 * that is shared too early, freed too early, hit wrongly or kept after a failed step shows at once, whatever the books
 * say.
 */
class SchedulerProgressTest {

    private static final int VOCABULARY = 50;
    private static final int WORLDS_PER_SEED = 150;
    private static final int REQUESTS_PER_WORLD = 30;
    private static final int MAX_STEPS = 20_000;

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void every_request_ends_and_no_block_stays_held(long seed) {
        var random = new Random(seed);
        long preemptions = 0;
        long hitTokens = 0;
        for (int i = 0; i < WORLDS_PER_SEED; i++) {
            var world = new World(random);
            try {
                world.run();
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("seed " + seed + ", world " + i + ": " + world.settings, e);
            }
            preemptions += world.scheduler.preemptions();
            hitTokens += world.cache.stats().hitTokens();
        }
        assertThat(preemptions).as("pools were tight").isGreaterThan(WORLDS_PER_SEED);
        assertThat(hitTokens).as("prefixes were shared").isGreaterThan(WORLDS_PER_SEED);
    }

    private static final class World {
        private final Random random;
        private final boolean mishaps;
        private final int blockSize;
        private final KvCacheManager cache;
        private final SchedulerSettings settings;
        private final Scheduler scheduler;
        private final int[] device;
        private final List<Sequence> accepted = new ArrayList<>();
        private int refused;

        World(Random random) {
            this.random = random;
            this.mishaps = random.nextBoolean();
            this.blockSize = 1 + random.nextInt(4);
            int contextLength = 8 + random.nextInt(24);
            int mostBlocks = (contextLength - 1) / blockSize + 1;
            int blockCount = 1 + mostBlocks + random.nextInt(2 * mostBlocks);
            boolean caching = random.nextInt(5) > 0;
            boolean chunked = random.nextInt(4) > 0;
            int maxSequences = 1 + random.nextInt(6);
            int maxBatchedTokens = chunked ? maxSequences + random.nextInt(20) : contextLength + random.nextInt(20);
            int threshold = chunked && random.nextBoolean() ? 1 + random.nextInt(6) : 0;
            settings = new SchedulerSettings(
                    Math.max(maxBatchedTokens, maxSequences), maxSequences, REQUESTS_PER_WORLD / 2, chunked, threshold);
            cache = new KvCacheManager(KvCacheSettings.of(blockCount, blockSize)
                    .withPrefixCaching(caching).withVerifyTokens(random.nextBoolean()));
            var limits = new RequestLimits(VOCABULARY, contextLength, blockSize, cache.usableBlocks());
            scheduler = new Scheduler(settings, limits, cache);
            device = new int[blockCount * blockSize];
        }

        void run() {
            for (int step = 0; accepted.size() + refused < REQUESTS_PER_WORLD || !scheduler.isIdle(); step++) {
                assertThat(step).as("steps").isLessThan(MAX_STEPS);
                if (accepted.size() + refused < REQUESTS_PER_WORLD && random.nextInt(3) == 0) {
                    submit(step);
                }
                if (mishaps && random.nextInt(20) == 0 && !accepted.isEmpty()) {
                    scheduler.cancel(accepted.get(random.nextInt(accepted.size())));
                }
                turn(step);
                scheduler.checkIntegrity();
                if (random.nextInt(4) == 0) {
                    cache.drainChanges();
                    scheduler.checkIntegrity();
                }
            }
            assertThat(accepted).allMatch(Sequence::isOver);
            if (!mishaps) {
                assertThat(accepted).extracting(Sequence::state).hasOnlyElementsOfType(SequenceState.Finished.class);
            }
            assertThat(cache.freeBlocks()).isEqualTo(cache.usableBlocks());
            assertThat(cache.resetPrefixCache()).isTrue();
        }

        private void submit(int step) {
            int[] prompt = random.ints(1 + random.nextInt(20), 3, 5).toArray();
            long deadline = mishaps && random.nextInt(6) == 0 ? step + random.nextInt(60) : Sequence.NO_DEADLINE;
            Sequence sequence = request("r" + step, blockSize, prompt,
                    StopConditions.maxTokens(1 + random.nextInt(25)), deadline);
            switch (scheduler.submit(sequence)) {
                case Submission.Accepted() -> accepted.add(sequence);
                case Submission.Refused(var reason, var message) -> refused++;
            }
        }

        private void turn(int step) {
            ScheduledBatch batch = scheduler.schedule(step);
            assertThat(batch.totalTokens()).isLessThanOrEqualTo(settings.maxBatchedTokens());
            assertThat(scheduler.runningCount()).isLessThanOrEqualTo(settings.maxSequences());
            if (batch.isEmpty()) {
                return;
            }
            if (mishaps && random.nextInt(25) == 0) {
                storeGarbage(batch);
                scheduler.fail(batch, "by chance");
                return;
            }
            store(batch);
            int[] drawn = new int[batch.sampleCount()];
            for (int entry = 0; entry < batch.size(); entry++) {
                verify(batch.sequence(entry).tokens(), batch.firstPosition(entry) + batch.tokenCount(entry));
                if (batch.samples(entry)) {
                    drawn[batch.sampleIndex(entry)] = draw(batch.sequence(entry).tokens());
                }
            }
            scheduler.settle(batch, drawn);
        }

        private void store(ScheduledBatch batch) {
            for (int entry = 0; entry < batch.size(); entry++) {
                TokenSequence tokens = batch.sequence(entry).tokens();
                int end = batch.firstPosition(entry) + batch.tokenCount(entry);
                int fingerprint = 1;
                for (int position = 0; position < end; position++) {
                    fingerprint = 31 * fingerprint + tokens.token(position);
                    if (position >= batch.firstPosition(entry)) {
                        device[tokens.table().slot(position)] = fingerprint;
                    }
                }
            }
        }

        private void storeGarbage(ScheduledBatch batch) {
            for (int entry = 0; entry < batch.size(); entry++) {
                TokenSequence tokens = batch.sequence(entry).tokens();
                for (int i = 0; i < batch.tokenCount(entry); i++) {
                    device[tokens.table().slot(batch.firstPosition(entry) + i)] = -1;
                }
            }
        }

        private void verify(TokenSequence tokens, int end) {
            int fingerprint = 1;
            for (int position = 0; position < end; position++) {
                fingerprint = 31 * fingerprint + tokens.token(position);
                if (device[tokens.table().slot(position)] != fingerprint) {
                    throw new AssertionError("position " + position + " of " + end + " is not in its slot, table "
                            + Arrays.toString(tokens.table().toArray()));
                }
            }
        }

        /** Sometimes the end of the sequence; otherwise a function of all tokens, as with a greedy model. */
        private int draw(TokenSequence tokens) {
            int fingerprint = 7;
            for (int position = 0; position < tokens.tokenCount(); position++) {
                fingerprint = 17 * fingerprint + tokens.token(position);
            }
            return random.nextInt(30) == 0 ? Requests.EOS : 3 + Math.floorMod(fingerprint, 2);
        }
    }
}
