package dev.warmpath.router.fleetlink;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.event.KvEventBatch;
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
    void a_checkpoint_replaces_what_waits() throws InterruptedException {
        inbox.put(batch(5, false));
        inbox.put(batch(3, true));
        inbox.put(batch(4, false));
        assertThat(inbox.offersCheckpoint()).isTrue();
        assertThat(inbox.poll(Duration.ZERO)).isEqualTo(batch(3, true));
        assertThat(inbox.offersCheckpoint()).isFalse();
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
        inbox.put(batch(6, false));
        assertThat(inbox.continues(4, 3)).as("ahead of the worker's stream, by a gap").isFalse();
        assertThat(inbox.continues(5, 3)).as("next").isTrue();
    }

    private static KvEventBatch batch(long sequence, boolean snapshot) {
        return new KvEventBatch("w", 7, sequence, snapshot, List.of(), 0, 0);
    }
}
