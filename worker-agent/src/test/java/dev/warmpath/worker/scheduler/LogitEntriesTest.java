package dev.warmpath.worker.scheduler;

import static dev.warmpath.worker.scheduler.Requests.EOS;
import static dev.warmpath.worker.scheduler.Requests.prompt;
import static dev.warmpath.worker.scheduler.Requests.request;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.kvcache.TokenSequence;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** A step's room for what adjusts logits: who waits for it, who does not, and who takes turns. */
class LogitEntriesTest {

    private static final int BLOCK_SIZE = 16;
    private static final LogitRules REPETITION = LogitRules.NONE.withPenalties(0, 0, 1.5f);
    private static final LogitRules PRESENCE = LogitRules.NONE.withPenalties(0.5f, 0, 1);
    private static final SchedulerSettings SETTINGS = SchedulerSettings.of(512, 8, 8);

    private static Sequence ruled(String id, int[] prompt, LogitRules rules, int maxTokens) {
        var tokens = new TokenSequence(HashSettings.ofBlockSize(BLOCK_SIZE), ExtraKeys.NONE, prompt);
        return new Sequence(id, tokens, SamplingParameters.GREEDY.with(rules), StopConditions.maxTokens(maxTokens),
                new int[] {EOS}, Logprobs.NONE, 0, Sequence.NO_DEADLINE, null);
    }

    private static SchedulerWorld world(int room) {
        var world = new SchedulerWorld(SETTINGS, 1024, BLOCK_SIZE, 8192);
        world.scheduler.limitLogitEntries(room);
        return world;
    }

    @Test
    void entries_are_the_different_tokens_of_prompt_and_answer_those_named_and_those_banned() {
        LogitRules rules = REPETITION.withAllowedTokens(5, 6, 6, 7, 7).withBiases(new int[] {7, 8}, 1, 1)
                .withBadWords(new int[] {9}, new int[] {9, 9});
        Sequence sequence = ruled("r", new int[] {5, 5, 30, 31}, rules, 10);
        assertThat(sequence.logitEntries()).as("5 to 8, 30, 31, and two words").isEqualTo(8);
        sequence.append(30, 100);
        sequence.append(40, 100);
        sequence.append(40, 100);
        assertThat(sequence.logitEntries()).isEqualTo(9);
        assertThat(sequence.logitEntriesAfter(5)).isEqualTo(14);
        assertThat(sequence.logitEntriesAfter(100)).as("7 of 10 are left").isEqualTo(16);
        assertThat(request("plain", BLOCK_SIZE, prompt(0, 9), 5).logitEntries()).isZero();
    }

    @Test
    void who_finds_no_room_is_overtaken_by_those_without_rules_and_by_nobody_else() {
        SchedulerWorld world = world(/* room */ 50);
        Sequence first = world.submit(ruled("first", prompt(100, 30), REPETITION, 3));
        Sequence second = world.submit(ruled("second", prompt(200, 30), REPETITION, 3));
        Sequence small = world.submit(ruled("small", prompt(300, 2), REPETITION, 1));
        world.nowNanos = SETTINGS.overtakeLimitNanos() + 1;
        Sequence[] plain = world.submit(prompt(1000, 10), prompt(2000, 10), prompt(3000, 10));

        assertThat(world.step()).containsExactly(30, 10, 10, 10);
        assertThat(plain).allMatch(each -> each.state() == SequenceState.Alive.RUNNING);
        assertThat(second.state()).isEqualTo(SequenceState.Alive.WAITING);
        assertThat(small.state()).isEqualTo(SequenceState.Alive.WAITING);
        assertThat(world.scheduler.waitingForBlocksCount()).isZero();
        world.step();
        world.step();
        assertThat(first.isOver()).isTrue();
        assertThat(world.step()).as("three decode, and what has room again begins").containsExactly(1, 1, 1, 30, 2);
        assertThat(small.isOver()).isTrue();
    }

    @Test
    void a_chunk_that_draws_nothing_takes_no_room() {
        var world = new SchedulerWorld(SETTINGS.withLongPrefillThreshold(16), 1024, BLOCK_SIZE, 8192);
        world.scheduler.limitLogitEntries(100);
        Sequence chunked = world.submit(ruled("chunked", prompt(100, 40), REPETITION, 3));
        Sequence other = world.submit(ruled("other", prompt(200, 16), REPETITION, 3));
        world.scheduler.limitLogitEntries(62);
        assertThat(world.step()).containsExactly(16, 16);
        world.scheduler.limitLogitEntries(45);
        assertThat(world.step()).as("the second chunk draws nothing").containsExactly(16, 1);
        assertThat(world.step()).as("the third does").containsExactly(8);
        assertThat(chunked.completionTokens()).isEqualTo(1);
        assertThat(other.completionTokens()).isEqualTo(2);
    }

    @Test
    void answers_that_outgrow_the_room_take_turns_and_all_get_to_their_end() {
        SchedulerWorld world = world(/* room */ 3 * 1024);
        Sequence[] ruled = {
            ruled("a", prompt(0, 16), PRESENCE, 2500), ruled("b", prompt(16, 16), PRESENCE, 2500),
            ruled("c", prompt(32, 16), PRESENCE, 2500)
        };
        world.submitAll(ruled);
        Sequence plain = world.submit(request("plain", BLOCK_SIZE, prompt(64, 16), 4000));
        assertThat(world.step()).containsExactly(16, 16, 16, 16);

        int[] missed = new int[3];
        int mostMissed = 0;
        for (int token = 100; !Arrays.stream(ruled).allMatch(Sequence::isOver); token++) {
            int[] before = Arrays.stream(ruled).mapToInt(Sequence::completionTokens).toArray();
            int plainBefore = plain.completionTokens();
            world.schedule();
            world.settleStep(world.batch, token);
            assertThat(plain.isOver() || plain.completionTokens() > plainBefore).isTrue();
            for (int i = 0; i < 3; i++) {
                missed[i] = ruled[i].isOver() || ruled[i].completionTokens() > before[i] ? 0 : missed[i] + 1;
                mostMissed = Math.max(mostMissed, missed[i]);
            }
        }
        assertThat(mostMissed).as("decisions in a row without one of them").isBetween(1, 2);
    }
}
