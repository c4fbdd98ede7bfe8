package dev.warmpath.router.fleetlink.log;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.Medium;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class LogInboxTest {

    private final LogInbox inbox = new LogInbox(new LogStream(0, false, () -> 0));

    @Test
    void a_full_inbox_starts_over_with_the_batch_that_came() throws InterruptedException {
        for (int sequence = 1; sequence <= LogInbox.MAX_BATCHES + 1; sequence++) {
            inbox.put(batch(sequence, false));
        }
        assertThat(inbox.poll(Duration.ZERO)).extracting(KvEventBatch::sequence).isEqualTo(8_193L);
        assertThat(inbox.poll(Duration.ZERO)).isNull();
    }

    @Test
    void an_inbox_with_a_hundred_thousand_keys_starts_over_too() throws InterruptedException {
        inbox.put(batch(0, true));
        inbox.put(batch(1, 60_000));
        inbox.put(batch(2, 40_000));
        assertThat(inbox.offersCheckpoint()).isTrue();
        inbox.put(batch(3, 1));
        assertThat(inbox.poll(Duration.ZERO)).isEqualTo(batch(3, 1));
        assertThat(inbox.poll(Duration.ZERO)).isNull();

        inbox.put(batch(4, 60_000));
        assertThat(inbox.continues(4, 4)).as("all of it is known").isTrue();
        inbox.put(batch(5, 60_000));
        assertThat(inbox.poll(Duration.ZERO)).extracting(KvEventBatch::sequence).isEqualTo(5L);
        inbox.put(batch(6, 100_000));
        inbox.put(batch(7, 200_000));
        assertThat(inbox.poll(Duration.ZERO)).as("it may be too large alone").isNotNull();
        inbox.put(batch(8, 100_000));
        assertThat(inbox.poll(Duration.ZERO)).extracting(KvEventBatch::sequence).isEqualTo(8L);
    }

    @Test
    void a_checkpoint_replaces_what_waits() throws InterruptedException {
        inbox.put(batch(5, false));
        inbox.put(batch(3, true));
        inbox.put(batch(4, false));
        assertThat(inbox.offersCheckpoint()).isTrue();
        assertThat(inbox.poll(Duration.ZERO)).isEqualTo(batch(3, true));
        assertThat(inbox.offersCheckpoint()).isFalse();
    }

    @Test
    void the_log_continues_the_copy_of_an_idle_worker_with_a_mark() {
        inbox.put(batch(0, false));
        assertThat(inbox.continues(0, 0)).isTrue();
        inbox.distrust();
        assertThat(inbox.continues(0, 0)).isFalse();
        inbox.put(batch(0, false));
        assertThat(inbox.continues(0, 0)).isTrue();
        inbox.put(batch(1, false));
        assertThat(inbox.continues(0, 0)).as("the mark of a batch that is not here").isFalse();
    }

    @Test
    void the_log_continues_a_copy_with_the_next_batch_or_once_it_has_repeated_all_but_the_latest() {
        assertThat(inbox.continues(4, 3)).as("silent").isFalse();
        inbox.put(batch(1, false));
        inbox.put(batch(2, false));
        assertThat(inbox.continues(4, 3)).as("lags behind what was known a moment ago").isFalse();
        inbox.put(batch(3, false));
        assertThat(inbox.continues(4, 3)).as("close behind").isTrue();
        inbox.put(batch(4, false));
        inbox.put(batch(6, 1));
        assertThat(inbox.continues(4, 3)).as("ahead of the worker's stream, by a gap").isFalse();
        assertThat(inbox.continues(5, 3)).as("next").isTrue();
    }

    private static KvEventBatch batch(long sequence, int keyCount) {
        return new KvEventBatch("w", 7, sequence, false,
                List.of(new BlockChange.Stored(Medium.DEVICE, new long[keyCount])), 0, 0);
    }

    private static KvEventBatch batch(long sequence, boolean snapshot) {
        return new KvEventBatch("w", 7, sequence, snapshot, List.of(), 0, 0);
    }
}
