package dev.warmpath.router.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.router.fleet.IndexGrade;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class WorkerLedgerTest {

    private static final int BLOCK_SIZE = 16;
    private final BlockHashChain prompt = BlockHashChain.of(
            HashSettings.ofBlockSize(BLOCK_SIZE), ExtraKeys.NONE, IntStream.range(0, 100).toArray());
    private final WorkerLedger ledger = new WorkerLedger(new RouterId("r"), BLOCK_SIZE, /* blocks */ 1_000);

    /** The index is asked before the lock is taken: what it has learned since is held, and the answer does not say so. */
    @Test
    void a_running_prompt_counts_while_the_index_has_it_and_no_more_once_it_has_lost_it() {
        WorkerLedger.Entry running = ledger.book(prompt, 100, /* sequences */ 1, 0, /* hasSlot */ true, 1, 0);
        ledger.firstToken(running, /* isTimed */ true, 1);

        assertThat(ledger.aboutToHold(prompt, 6, index(/* holds */ false))).as("not announced yet").isEqualTo(6);
        assertThat(ledger.aboutToHold(prompt, 6, index(true))).as("announced a moment ago").isEqualTo(6);
        ledger.settle(index(true));
        assertThat(ledger.aboutToHold(prompt, 6, index(true))).as("and another decision has seen it").isEqualTo(6);
        assertThat(ledger.aboutToHold(prompt, 6, index(false))).as("evicted").isZero();
    }

    @Test
    void several_answers_to_one_prompt_are_as_many_sequences_that_hold_its_blocks_once() {
        WorkerLedger.Entry running = ledger.book(prompt, 100, /* sequences */ 5, 0, /* hasSlot */ true, 1, 0);

        assertThat(ledger.booked()).isEqualTo(new WorkerLedger.Load(100, 1, 5, 7, 500));
        ledger.firstToken(running, /* isTimed */ true, 1);
        ledger.close(running, /* inStep */ true, IndexGrade.EXACT, 2);
        assertThat(ledger.booked()).isEqualTo(WorkerLedger.Load.NONE);
    }

    private static WorkerLedger.IndexWord index(boolean holds) {
        return new WorkerLedger.IndexWord(/* inStep */ true, IndexGrade.EXACT, 2, _ -> holds);
    }
}
