package dev.warmpath.worker.scheduler;

import static dev.warmpath.worker.scheduler.Requests.prompt;
import static dev.warmpath.worker.scheduler.Requests.request;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class WaitingQueueTest {

    @Test
    @DisplayName("K34: admission order")
    void lower_ranks_stand_first_and_equal_ones_in_order_of_arrival() {
        var queue = new WaitingQueue();
        Sequence[] named = {waiting(2, 1), waiting(1, 3), waiting(1, 2), waiting(0, 4)};
        for (Sequence sequence : named) {
            queue.add(sequence);
        }

        assertThat(listing(queue)).containsExactly(named[3], named[2], named[1], named[0]);
    }

    @Test
    void who_is_not_in_the_queue_is_not_removed() {
        var queue = new WaitingQueue();
        queue.add(waiting(0, 1));
        queue.add(waiting(0, 3));

        assertThat(queue.remove(waiting(0, 2))).isFalse();
        assertThat(queue.remove(waiting(0, 3))).as("an equal place is not the same sequence").isFalse();
        assertThat(queue.size()).isEqualTo(2);
        assertThatThrownBy(() -> queue.get(2)).isInstanceOf(IndexOutOfBoundsException.class)
                .hasMessage("place 2 of a queue of 2");
    }

    @Test
    void ten_thousand_random_changes_keep_the_order_of_a_sorted_map() {
        var random = new Random(1);
        var queue = new WaitingQueue();
        var model = new TreeMap<Integer, Sequence>();
        for (int i = 0; i < 10_000; i++) {
            int key = random.nextInt(200);
            switch (random.nextInt(4)) {
                case 0, 1 -> {
                    if (!model.containsKey(key)) {
                        model.put(key, waiting(key / 50, key));
                        queue.add(model.get(key));
                    }
                }
                case 2 -> {
                    if (!model.isEmpty()) {
                        assertThat(queue.remove(0)).isSameAs(model.pollFirstEntry().getValue());
                    }
                }
                default -> {
                    Sequence removed = model.remove(key);
                    assertThat(removed == null || queue.remove(removed)).isTrue();
                }
            }
            assertThat(queue.size()).isEqualTo(model.size());
        }
        assertThat(listing(queue)).containsExactlyElementsOf(model.values());
    }

    private static Sequence waiting(int rank, int arrival) {
        Sequence sequence = request("r", 4, prompt(0, 1), 1);
        sequence.rank = rank;
        sequence.arrival = arrival;
        return sequence;
    }

    private static List<Sequence> listing(WaitingQueue queue) {
        List<Sequence> listing = new ArrayList<>();
        for (int place = 0; place < queue.size(); place++) {
            listing.add(queue.get(place));
        }
        return listing;
    }
}
