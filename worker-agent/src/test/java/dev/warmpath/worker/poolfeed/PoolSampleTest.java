package dev.warmpath.worker.poolfeed;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.pool.PoolCodec;
import dev.warmpath.protocol.pool.PoolCopy;
import dev.warmpath.protocol.pool.PoolFrame;
import dev.warmpath.protocol.pool.PoolRequest;
import dev.warmpath.protocol.pool.PoolShape;
import dev.warmpath.protocol.pool.RequestState;
import dev.warmpath.worker.engine.EngineBooks;
import dev.warmpath.worker.engine.Generation;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.kvcache.PoolImage;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PoolSampleTest {

    private static final int BLOCKS = 40;

    /**
     * Prompts of few families share blocks, several answers fork, some are cancelled, the pool is too small for all,
     * and now and then it is reset. What a reader knows of a whole frame and changes is what the sequences' own tables
     * add up to.
     */
    @ParameterizedTest(name = "seed {0}, async {1}, {2} blocks of swap space")
    @CsvSource({"1, false, 0", "2, false, 24", "3, true, 24"})
    void a_whole_frame_and_the_changes_after_it_are_the_pool_after_each_of_a_thousand_random_steps(
            long seed, boolean async, int hostBlocks) {
        var random = new SplittableRandom(seed);
        try (var rig = new PoolRig(
                KvCacheSettings.of(BLOCKS, /* blockSize */ 4).withHostBlockCount(hostBlocks),
                SchedulerSettings.of(/* maxBatchedTokens */ 24, 8, 64).withReserveWholeSequence(false)
                        .withAsyncScheduling(async))) {
            var copy = new PoolCopy();
            List<Generation> submitted = new ArrayList<>();
            PoolSample before = null;
            PoolImage spare = new PoolImage(BLOCKS, hostBlocks);
            int told = 0;
            for (int sample = 1; sample <= 1_000; sample++) {
                act(rig, random, submitted);
                PoolImage image = spare;
                PoolSample now = rig.look(books -> PoolSample.take(books, image));
                PoolFrame frame = before == null || random.nextInt(100) == 0
                        ? now.whole(sample) : now.changes(sample, before);
                copy.apply(PoolCodec.decode(PoolCodec.encode(frame)));
                told += frame.blocks().count();
                spare = before == null ? new PoolImage(BLOCKS, hostBlocks) : before.image();
                before = now;
                rig.look(books -> requireSame(books, copy));
            }
            assertThat(copy.last().counters().recomputePreemptions() + copy.last().counters().swapPreemptions())
                    .isPositive();
            assertThat(copy.last().counters().swapPreemptions() > 0).isEqualTo(hostBlocks > 0);
            assertThat(copy.last().counters().hitTokens()).isPositive();
            assertThat(copy.last().counters().evictions()).isPositive();
            assertThat(told).as("blocks told").isLessThan(1_000 * BLOCKS / 2);
        }
    }

    private static void act(PoolRig rig, SplittableRandom random, List<Generation> submitted) {
        rig.nowNanos += random.nextInt(50_000_000);
        int what = random.nextInt(100);
        if (what < 15 && rig.look(books -> books.snapshot().load().waiting()) < 20) {
            GenerateRequest request = PoolRig.request("r" + random.nextInt(5), random.nextInt(6) * 200,
                    1 + random.nextInt(38), 1 + random.nextInt(30));
            submitted.addAll(rig.submit(request.withChoices(random.nextInt(4) == 0 ? 3 : 1)));
        } else if (what < 18 && !submitted.isEmpty()) {
            rig.engine.cancel(submitted.remove(random.nextInt(submitted.size())));
        } else if (what == 18) {
            rig.engine.resetPrefixCache().join();
        } else {
            rig.step();
        }
    }

    /** Against the tables of all who hold blocks: nothing is in flight while the engine is held. */
    private static boolean requireSame(EngineBooks books, PoolCopy copy) {
        int[] references = new int[BLOCKS];
        var hostUsed = new BitSet();
        List<String> requests = new ArrayList<>();
        books.forEachAlive(sequence -> {
            for (int block : sequence.tokens().table().toArray()) {
                references[block]++;
            }
            Arrays.stream(books.pool().hostBlocks(sequence.tokens())).forEach(hostUsed::set);
            requests.add(sequence.requestId() + "/" + sequence.choice());
        });
        PoolFrame last = copy.last();
        int keyed = 0;
        for (int block = 0; block < BLOCKS; block++) {
            assertThat(copy.references(block)).as("references of " + block).isEqualTo(references[block]);
            assertThat(copy.isKeyed(block)).isEqualTo(books.pool().isKeyed(block));
            assertThat(copy.lastUseMillis(block)).isEqualTo(books.pool().lastUseMillis(block));
            if (copy.isKeyed(block)) {
                keyed++;
                assertThat(copy.key(block)).isEqualTo(ByteBuffer.wrap(books.pool().hash(block)).getLong(24));
            }
        }
        int[] free = IntStream.range(1, BLOCKS).filter(block -> references[block] == 0).toArray();
        assertThat(last.next()).containsExactlyInAnyOrder(free);
        assertThat(last.counters().freeBlocks()).isEqualTo(free.length);
        assertThat(last.counters().usedBlocks()).isEqualTo(BLOCKS - 1 - free.length);
        assertThat(last.counters().cachedBlocks()).isEqualTo(keyed);
        assertThat(last.hostUsed()).isEqualTo(hostUsed);
        assertThat(last.requests()).extracting(each -> each.id() + "/" + each.choice())
                .containsExactlyElementsOf(requests);
        assertThat(last.counters().running() + last.counters().waiting()).isEqualTo(requests.size());
        return true;
    }

    @Test
    void requests_are_told_with_how_far_they_have_come_and_what_the_last_step_did_for_them() {
        try (var rig = PoolRig.of(64, /* maxBatchedTokens */ 50)) {
            rig.submit(PoolRig.request("first", 0, 40, 10));
            rig.submit(PoolRig.request("second", 500, 40, 10));
            rig.step();

            PoolFrame frame = sample(rig).whole(1);
            assertThat(frame.requests()).containsExactly(
                    new PoolRequest("first", 0, RequestState.RUNNING, 40, 0, 40, 1, 40),
                    new PoolRequest("second", 0, RequestState.RUNNING, 40, 0, 10, 0, 10));
            assertThat(frame.shape()).isEqualTo(new PoolShape(16, 64, 0, 1));
            assertThat(frame.held()).isTrue();
            rig.step();
            assertThat(sample(rig).whole(1).requests()).containsExactly(
                    new PoolRequest("first", 0, RequestState.RUNNING, 40, 0, 41, 2, 1),
                    new PoolRequest("second", 0, RequestState.RUNNING, 40, 0, 40, 1, 30));
        }
    }

    @Test
    void of_three_hundred_requests_the_first_256_are_told() {
        try (var rig = new PoolRig(KvCacheSettings.of(64, 16), SchedulerSettings.of(64, 8, 300))) {
            for (int i = 0; i < 300; i++) {
                rig.submit(PoolRig.request("r" + i, i, 5, 5));
            }
            PoolFrame frame = sample(rig).whole(1);

            assertThat(frame.counters().waiting()).isEqualTo(300);
            assertThat(frame.requests()).hasSize(256);
            assertThat(frame.requests().getLast().id()).isEqualTo("r255");
        }
    }

    private static PoolSample sample(PoolRig rig) {
        return rig.look(books -> PoolSample.take(books, new PoolImage(books.pool().settings().blockCount(), 0)));
    }
}
