package dev.warmpath.worker.foreign.event;

import static dev.warmpath.worker.foreign.event.EventFollower.NOTHING;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KeySet;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class EventFollowerTest {

    private static final byte[] END = {};
    private static final long END_MARK = -1;

    private final KeySet announced = new KeySet();
    private final List<BlockChange> heard = new ArrayList<>();
    private final EventFollower follower = follower(true, 2);

    @Test
    void it_begins_with_what_the_replay_socket_has_and_goes_on_with_what_is_live() {
        assertThat(follower.connected()).isZero();
        assertThat(follower.replayed(0, store(0))).isEqualTo(NOTHING);
        assertThat(follower.replayed(1, store(1))).isEqualTo(NOTHING);
        follower.replayed(END_MARK, END);
        assertThat(follower.isRepairing()).isFalse();

        assertThat(follower.live(0, store(0))).isEqualTo(NOTHING);          // was on its way when it was replayed
        assertThat(follower.live(1, store(1))).isEqualTo(NOTHING);
        assertThat(follower.live(2, store(2))).isEqualTo(NOTHING);

        assertHolds(0, 1, 2);
        assertThat(follower.counts().batches()).isEqualTo(3);
        assertThat(follower.counts().replayed()).isEqualTo(2);
        assertThat(follower.counts().restarts()).isZero();
    }

    @Test
    void a_gap_is_filled_from_the_replay_socket_beginning_with_the_batch_before_it() {
        beginWith(0, 1);

        assertThat(follower.live(4, store(4))).isEqualTo(1);
        assertThat(follower.isRepairing()).isTrue();
        for (int i = 1; i <= 4; i++) {
            follower.replayed(i, store(i));
        }
        follower.replayed(END_MARK, END);
        follower.live(5, store(5));

        assertHolds(0, 1, 2, 3, 4, 5);
        assertThat(heard).doesNotContain(new BlockChange.Cleared());
        assertThat(follower.counts().gaps()).isEqualTo(1);
        assertThat(follower.counts().lostGaps()).isZero();
        assertThat(follower.counts().batches()).isEqualTo(6);
    }

    @Test
    @DisplayName("K28: a replay from 10 on brings 10 to 18 and the end mark")
    void what_is_missing_up_to_the_live_message_is_all_that_is_taken_over() {
        beginWith(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);

        assertThat(follower.live(18, store(18))).isEqualTo(10);
        for (int i = 10; i <= 18; i++) {
            follower.replayed(i, store(i));
        }
        follower.replayed(END_MARK, END);

        assertThat(follower.isRepairing()).isFalse();
        assertThat(follower.counts().announced()).isEqualTo(19);
        assertThat(follower.counts().replayed()).isEqualTo(19);
        assertThat(follower.counts().restarts() + follower.counts().lostGaps()).isZero();
    }

    @Test
    void a_replay_that_ends_before_the_waiting_message_is_completed_by_it() {
        beginWith(0);

        follower.live(2, store(2));
        follower.replayed(0, store(0));
        follower.replayed(1, store(1));
        follower.replayed(END_MARK, END);

        assertHolds(0, 1, 2);
        assertThat(follower.counts().lostGaps()).isZero();
    }

    @Test
    @DisplayName("vLLM 0.32 with a buffer of 4: asked for 0, it answers from 15 on and says nothing else")
    void a_gap_older_than_the_buffer_clears_everything_and_begins_with_what_is_there() {
        beginWith(0, 1);

        assertThat(follower.live(9, store(9))).isEqualTo(1);
        for (int i = 6; i <= 9; i++) {
            follower.replayed(i, store(i));
        }
        follower.replayed(END_MARK, END);

        assertHolds(6, 7, 8, 9);
        assertThat(follower.counts().lostGaps()).isEqualTo(1);
    }

    @Test
    void a_gap_that_nobody_answers_clears_everything_but_the_message_that_showed_it() {
        beginWith(0, 1);
        follower.live(5, store(5));

        follower.endRepair();                                               // patience is at its end

        assertHolds(5);
        assertThat(follower.counts().lostGaps()).isEqualTo(1);
        assertThat(follower.replayed(2, store(2))).isEqualTo(NOTHING);      // too late
        assertHolds(5);
    }

    @Test
    void without_a_replay_socket_a_gap_clears_at_once() {
        EventFollower alone = follower(false, 2);
        assertThat(alone.connected()).isEqualTo(NOTHING);

        alone.live(7, store(7));
        alone.live(8, store(8));
        assertHolds(7, 8);
        alone.live(10, store(10));

        assertHolds(10);
        assertThat(alone.counts().gaps()).isEqualTo(1);
        assertThat(alone.counts().lostGaps()).isEqualTo(1);
    }

    @Test
    void who_comes_late_to_an_engine_without_an_answer_asks_once_more_at_the_first_message() {
        follower.connected();
        follower.endRepair();

        assertThat(follower.live(7, store(7))).isZero();
        follower.replayed(7, store(7));
        follower.replayed(END_MARK, END);

        assertHolds(7);
        assertThat(follower.counts().gaps()).isZero();
        assertThat(follower.counts().lostGaps()).isZero();
    }

    @Test
    @DisplayName("vLLM 0.32: over a restart the numbers go 19, 20, 0, 1")
    void a_number_that_falls_is_another_life_and_begins_from_nothing() {
        EventFollower captured = follower(true, 32);
        captured.connected();
        captured.replayed(END_MARK, END);
        List<Messages.Message> messages = Messages.of("vllm-0.32-bytes-over-restart");
        captured.live(messages.get(0).sequence(), messages.get(0).payload());
        captured.endRepair();
        captured.live(messages.get(1).sequence(), messages.get(1).payload());
        assertThat(announced.size()).isEqualTo(4);

        assertThat(captured.live(messages.get(2).sequence(), messages.get(2).payload())).isEqualTo(NOTHING);
        assertThat(announced.size()).isEqualTo(2);
        captured.live(messages.get(3).sequence(), messages.get(3).payload());

        assertThat(announced.size()).isEqualTo(4);
        assertThat(captured.counts().restarts()).isEqualTo(1);
        assertThat(captured.counts().equalHashes()).isEqualTo(8);           // seed 0, 32 tokens a block
    }

    @Test
    void a_restart_whose_first_messages_were_missed_is_replayed_from_0() {
        beginWith(0, 1, 2, 3);
        follower.live(4, store(4));

        assertThat(follower.live(2, store(102))).isZero();
        follower.replayed(0, store(100));
        follower.replayed(1, store(101));
        follower.replayed(2, store(102));
        follower.replayed(END_MARK, END);

        assertHolds(100, 101, 102);
        assertThat(follower.counts().restarts()).isEqualTo(1);
    }

    @Test
    void a_restart_that_has_overtaken_the_old_numbers_shows_in_the_time_of_the_last_batch() {
        beginWith(0, 1);

        assertThat(follower.live(4, store(104))).isEqualTo(1);
        assertThat(follower.replayed(1, store(101))).isZero();              // not the batch 1 of before: all anew
        for (int i = 0; i <= 4; i++) {
            follower.replayed(i, store(100 + i));
        }
        follower.replayed(END_MARK, END);

        assertHolds(100, 101, 102, 103, 104);
        assertThat(follower.counts().restarts()).isEqualTo(1);
    }

    @Test
    void a_restart_right_after_a_replay_shows_in_a_later_time() {
        follower.connected();
        for (int i = 0; i < 5; i++) {
            follower.replayed(i, store(i));
        }
        follower.replayed(END_MARK, END);

        follower.live(0, store(100));

        assertHolds(100);
        assertThat(follower.counts().restarts()).isEqualTo(1);
    }

    @Test
    void after_a_new_connection_what_came_meanwhile_is_asked_for() {
        beginWith(0, 1);

        assertThat(follower.connected()).isEqualTo(1);
        follower.replayed(1, store(1));
        follower.replayed(2, store(2));
        follower.replayed(END_MARK, END);
        follower.live(3, store(3));

        assertHolds(0, 1, 2, 3);
        assertThat(follower.counts().restarts() + follower.counts().gaps()).isZero();
    }

    @Test
    void an_engine_that_does_not_know_the_last_batch_after_a_new_connection_is_another_one() {
        beginWith(0, 1, 2);
        follower.live(3, store(3));

        assertThat(follower.connected()).isEqualTo(3);
        assertThat(follower.replayed(END_MARK, END)).isZero();
        assertHolds();
        follower.replayed(0, store(100));
        follower.replayed(END_MARK, END);
        assertThat(follower.isRepairing()).isFalse();
        follower.live(1, store(101));

        assertHolds(100, 101);
        assertThat(follower.counts().restarts()).isEqualTo(1);
    }

    @Test
    void an_engine_that_has_never_sent_anything_is_no_other_one() {
        beginWith();

        assertThat(follower.connected()).isZero();
        assertThat(follower.replayed(END_MARK, END)).isEqualTo(NOTHING);
        assertThat(follower.counts().restarts()).isZero();
    }

    @Test
    void a_broken_batch_is_counted_and_loses_nothing_but_itself() {
        beginWith(0);

        follower.live(1, new byte[] {(byte) 0xc1});
        follower.live(2, store(2));
        follower.live(END_MARK, END);

        assertHolds(0, 2);
        assertThat(follower.counts().broken()).isEqualTo(2);
        assertThat(follower.counts().gaps()).isZero();
    }

    @Test
    void events_that_are_not_known_are_counted() {
        beginWith(0);

        follower.live(1, Packed.batch(1, List.of("BlockPinned", List.of(1))));

        assertThat(follower.counts().unknown()).isEqualTo(1);
        assertThat(follower.counts().announced()).isEqualTo(1);
    }

    private void beginWith(int... batches) {
        follower.connected();
        for (int batch : batches) {
            follower.replayed(batch, store(batch));
        }
        follower.replayed(END_MARK, END);
    }

    private void assertHolds(int... batches) {
        long[] keys = Arrays.stream(batches).mapToLong(EventFollowerTest::key).toArray();
        assertThat(announced.toArray()).containsExactlyInAnyOrder(keys);
    }

    private EventFollower follower(boolean hasReplay, int blockSize) {
        return new EventFollower(new EngineBlocks(HashSettings.ofBlockSize(blockSize), 1000), changes -> {
            heard.addAll(changes);
            changes.forEach(announced::apply);
        }, hasReplay);
    }

    /** A batch that stores one block of its own, sent at a time of its own. */
    private static byte[] store(int id) {
        return Packed.batch(1000 + id,
                Arrays.asList("BlockStored", List.of(50_000L + id), null, List.of(7, id), 2));
    }

    private static long key(int id) {
        return BlockHashChain.of(HashSettings.ofBlockSize(2), ExtraKeys.NONE, new int[] {7, id}).key(0);
    }
}
