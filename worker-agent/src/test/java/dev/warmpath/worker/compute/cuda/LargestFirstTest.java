package dev.warmpath.worker.compute.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Comparator;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class LargestFirstTest {

    private final LargestFirst order = new LargestFirst();

    private int[] sorted(int... sizes) {
        order.restart(sizes.length);
        for (int size : sizes) {
            order.add(size);
        }
        order.sort();
        return IntStream.range(0, sizes.length).map(order::index).toArray();
    }

    @Test
    void the_largest_comes_first_and_equal_ones_as_they_were_added() {
        assertThat(sorted(7, 300, 0, 65_536, 300, 0, 255)).containsExactly(3, 1, 4, 6, 0, 2, 5);
    }

    @Test
    void nothing_one_size_and_zeros_are_in_order_as_they_are() {
        assertThat(sorted()).isEmpty();
        assertThat(sorted(5)).containsExactly(0);
        assertThat(sorted(0, 0, 0)).containsExactly(0, 1, 2);
    }

    @Test
    void sizes_of_any_length_are_put_in_the_order_of_a_stable_sort() {
        var random = new SplittableRandom(11);
        for (int run = 0; run < 300; run++) {
            int mostBits = random.nextInt(1, 32);
            int[] sizes = IntStream.range(0, random.nextInt(1, 600))
                    .map(_ -> random.nextInt() >>> Integer.SIZE - mostBits).toArray();
            int[] expected = IntStream.range(0, sizes.length).boxed()
                    .sorted(Comparator.comparing((Integer index) -> sizes[index]).reversed())
                    .mapToInt(Integer::intValue).toArray();
            assertThat(sorted(sizes)).isEqualTo(expected);
        }
    }
}
