package dev.warmpath.router.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.router.models.ServedModel;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class BooksTest extends TwoWorkers {

    private final Books books = new Books(new RouterId("r"));
    private final SharedPrefixes shared = new SharedPrefixes();
    private final int[] tokens = IntStream.range(0, 100).toArray();

    /** What the index knows counts by its word: the promise is over, the blocks are still in use. */
    @Test
    void a_running_prompt_is_promised_until_the_index_has_it() {
        Booking running = book(tokens, 1);
        books.firstToken(running, /* isTimed */ true, 1);
        assertThat(promised()).as("not announced yet").isEqualTo(6);

        books.markKnown(running);
        assertThat(promised()).as("the index's word counts").isZero();
        assertThat(running()).isEqualTo(6);
        books.close(running, /* isInStep */ true, /* isKnown */ true, 2);
        assertThat(running()).isZero();
    }

    @Test
    void what_ended_before_the_index_had_it_is_promised_for_two_seconds_more() {
        Booking over = book(tokens, 1);
        books.firstToken(over, true, 1);
        books.close(over, /* isInStep */ true, /* isKnown */ false, 10);

        books.expire(2_000_000_010L);
        assertThat(promised()).isEqualTo(6);
        assertThat(running()).isZero();
        books.expire(2_000_000_011L);
        assertThat(promised()).isZero();
        assertThat(books.ledger(a).bookings()).isEmpty();
    }

    @Test
    void what_ended_before_its_first_token_is_promised_no_more() {
        books.close(book(tokens, 1), /* isInStep */ true, /* isKnown */ false, 1);

        assertThat(promised()).isZero();
        assertThat(books.ledger(a).bookings()).isEmpty();
    }

    /** Four are asked about at a time, each as often as any other. */
    @Test
    void every_promise_is_doubted_in_its_turn_and_none_before_its_first_token() {
        Booking[] asked = new Booking[4];
        book(tokens, 1);
        assertThat(books.doubtful(asked)).isZero();

        Booking[] all = new Booking[6];
        for (int i = 0; i < 6; i++) {
            all[i] = book(randomTokens(100), 1);
            books.firstToken(all[i], true, 1);
        }
        assertThat(books.doubtful(asked)).isEqualTo(4);
        assertThat(asked).containsExactly(all[0], all[1], all[2], all[3]);
        books.markKnown(all[4]);
        assertThat(books.doubtful(asked)).isEqualTo(4);
        assertThat(asked).containsExactly(all[5], all[0], all[1], all[2]);
    }

    @Test
    void several_answers_to_one_prompt_are_as_many_sequences_that_hold_its_blocks_once() {
        Booking running = book(tokens, /* choices */ 5);

        assertThat(books.ledger(a).booked()).isEqualTo(new WorkerLedger.Load(100, 1, 5, 7, 500));
        books.firstToken(running, /* isTimed */ true, 1);
        books.close(running, /* isInStep */ true, /* isKnown */ true, 2);
        assertThat(books.ledger(a).booked()).isEqualTo(WorkerLedger.Load.NONE);
    }

    /** The place of a is given to c, whose blocks must not be taken for those of a. */
    @Test
    void the_prompts_of_a_worker_that_is_gone_go_with_it_once_another_one_comes() {
        Booking running = book(tokens, 1);
        fleet.remove(a, "test");
        books.forgetWhoIsGone();
        int slot = books.ledger(ready("c")).slot();
        books.share(prompt(tokens), shared);

        assertThat(slot).isEqualTo(running.ledger.slot());
        assertThat(shared.running(slot)).isZero();
        assertThat(books.inFlight()).isZero();
        books.close(running, /* isInStep */ true, false, 1);
        assertThat(books.inFlight()).isZero();
    }

    /** 16,384 ends within two seconds, of which the index knows none, and one more. */
    @Test
    void of_ends_that_nobody_learns_of_the_oldest_give_way() {
        for (int i = 0; i < 16_385; i++) {
            Booking over = book(i == 0 ? tokens : new int[] {i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, 1);
            books.firstToken(over, true, 1);
            books.close(over, /* isInStep */ true, false, 1);
        }
        assertThat(promised()).isZero();
        assertThat(books.ledger(a).bookings()).hasSize(16_384);
    }

    /** What the index knew may be gone when its copy is loaded anew. */
    @Test
    void what_ends_while_the_index_is_out_of_step_is_promised_again_for_two_seconds() {
        Booking running = book(tokens, 1);
        books.firstToken(running, true, 1);
        books.markKnown(running);
        assertThat(promised()).isZero();

        books.close(running, /* isInStep */ false, /* isKnown */ true, 10);
        assertThat(promised()).isEqualTo(6);
        books.expire(2_000_000_011L);
        assertThat(promised()).isZero();
    }

    /** A hundred prompts of 40,000 blocks would be 128 MB of chains. */
    @Test
    void the_blocks_of_ends_that_nobody_learns_of_are_bounded_too() {
        TokenizedPrompt longest = prompt(new int[16 * 40_000]);
        for (int i = 0; i < 100; i++) {
            Booking over = books.book(a, longest, 0, 1, 0);
            books.firstToken(over, true, 1);
            books.close(over, true, false, 1);
        }
        assertThat(books.ledger(a).bookings()).hasSize(3_000_000 / 40_000);
    }

    /** Two revisions with the same tokens in the same blocks; what one has in flight is no copy for the other. */
    @Test
    void prompts_of_another_revision_are_not_shared() {
        book(tokens, 1);
        var description = model.description();
        var other = new ModelDescription("other", "0123456789abcdef", description.parts(), 1_000, 4_096);
        var stranger = TokenizedPrompt.of(new ServedModel(other, model.hashSettings(), model.tokenizer()), tokens);

        books.share(stranger, shared);
        assertThat(shared.uses()).isEmpty();
        assertThat(shared.running(books.ledger(a).slot())).isZero();
        books.share(prompt(tokens), shared);
        assertThat(shared.uses()).containsExactly(new PrefixUse(6, 1));
    }

    /** A slower thread has read the heartbeat before; it must not count as news. */
    @Test
    void an_older_heartbeat_never_takes_the_place_of_a_newer_one() {
        WorkerLedger ledger = books.ledger(a);
        fleet.heartbeat(new Heartbeat("a", 1, 7, 0, 900, 700, 0, 0, 0));
        fleet.heartbeat(new Heartbeat("a", 1, 4, 0, 960, 600, 0, 0, 0));
        books.hear(a, ledger);

        assertThat(ledger.loadOfOthers().requests()).isEqualTo(4);
        assertThat(ledger.hasHeard(a.heartbeat())).isTrue();
    }

    private Booking book(int[] prompt, int choices) {
        return books.book(a, prompt(prompt).answered(/* anew */ false, choices), 0, /* decision */ 1, 0);
    }

    private int promised() {
        books.share(prompt(tokens), shared);
        return shared.promised(books.ledger(a).slot());
    }

    private int running() {
        books.share(prompt(tokens), shared);
        return shared.running(books.ledger(a).slot());
    }
}
