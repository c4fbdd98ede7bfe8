package dev.warmpath.worker.kvcache;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class FreeQueueTest {

    @Test
    @DisplayName("K2: pop, remove from the middle, append, prepend")
    void blocks_leave_and_return_at_either_end() {
        var queue = new FreeQueue(6);

        assertThat(queue.popFirst()).isEqualTo(0);
        assertThat(queue.popFirst()).isEqualTo(1);
        queue.remove(4);
        queue.append(1);
        queue.append(4);
        queue.insertAfter(FreeQueue.END, 0);

        assertThat(queue.listing()).containsExactly(0, 2, 3, 5, 1, 4);
        assertThat(queue.size()).isEqualTo(6);
    }

    @Test
    @DisplayName("K2: nothing to pop")
    void popping_from_an_empty_queue_is_an_error() {
        var queue = new FreeQueue(1);
        queue.popFirst();

        assertThatIllegalStateException().isThrownBy(queue::popFirst).withMessage("the free queue is empty");
        assertThat(queue.size()).isZero();
    }

    @Test
    void a_block_can_be_in_the_queue_only_once_and_leave_it_only_once() {
        var queue = new FreeQueue(3);

        assertThatIllegalStateException().isThrownBy(() -> queue.append(1)).withMessageContaining("block 1");
        assertThatIllegalStateException().isThrownBy(() -> queue.insertAfter(FreeQueue.END, 1))
                .withMessageContaining("block 1");
        queue.remove(1);
        assertThatIllegalStateException().isThrownBy(() -> queue.remove(1)).withMessageContaining("block 1");

        assertThat(queue.listing()).containsExactly(0, 2);
    }

    @Test
    @DisplayName("K2: several to the front")
    void blocks_put_behind_each_other_come_first_in_their_own_order() {
        var queue = new FreeQueue(4);
        queue.remove(1);
        queue.remove(3);

        queue.insertAfter(FreeQueue.END, 3);
        queue.insertAfter(3, 1);

        assertThat(queue.listing()).containsExactly(3, 1, 0, 2);
    }

    @Test
    void the_queue_can_be_walked_from_any_block_on() {
        var queue = new FreeQueue(3);
        queue.remove(1);

        assertThat(queue.after(FreeQueue.END)).isEqualTo(0);
        assertThat(queue.after(0)).isEqualTo(2);
        assertThat(queue.after(2)).isEqualTo(FreeQueue.END);
        assertThatIllegalStateException().isThrownBy(() -> queue.after(1)).withMessageContaining("block 1");
        assertThat(new FreeQueue(0).after(FreeQueue.END)).isEqualTo(FreeQueue.END);
    }
}
