package dev.warmpath.worker.compute.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.compute.CacheType;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What storing keys and values leaves in a cache of one byte an element: codes and scales, and where. */
class KvScalesTest {

    @Nested
    @OnEmulatedDevice
    class OnTheEmulatedDevice extends Cases {}

    @Nested
    @OnCard
    class OnACard extends Cases {}

    abstract static class Cases extends OnDevices {

        private static final int HEADS = 12;
        private static final int KV_HEADS = 6;
        private static final int BLOCKS = 2;
        /** A token in either block, and one that is not kept. */
        private static final int[] SLOTS = {17, 2, -1};
        private static final byte UNTOUCHED = (byte) 0xFF;

        /** Largest magnitudes of the heads of keys; those of values are half of them. */
        private static final float[] LARGEST = {448, 900, 0, 1, 0x1p-20f, 28_672};

        /** Head h of token t has its largest magnitude at element 5 + h, the opposite of a half of it at the end. */
        private static float[] rows(int headSize) {
            int columns = (HEADS + 2 * KV_HEADS) * headSize;
            float[] rows = new float[SLOTS.length * columns];
            for (int row = 0; row < SLOTS.length; row++) {
                for (int head = 0; head < 2 * KV_HEADS; head++) {
                    float largest = LARGEST[(head + row) % KV_HEADS] / (head < KV_HEADS ? 1 : 2);
                    int start = row * columns + (HEADS + head) * headSize;
                    rows[start + 5 + head] = largest;
                    rows[start + headSize - 1] = 0 - largest / 2;    // no negative zero
                    rows[start] = largest / 28_672;                // the smallest with four significant bits
                }
            }
            return rows;
        }

        private DevicePointer keys;
        private DevicePointer values;

        private void store(int headSize, float... rows) {
            int rowBytes = headSize + Float.BYTES;
            keys = arrays.empty((long) BLOCKS * 16 * KV_HEADS * rowBytes);
            values = arrays.empty((long) BLOCKS * 16 * KV_HEADS * rowBytes);
            DevicePointer qkv = arrays.bf16(rows);
            DevicePointer slots = arrays.ints(SLOTS);
            DevicePointer positions = arrays.ints(new int[SLOTS.length]);
            arrays.run(arrays.cacheKernels(CacheType.FP8_E4M3, headSize).rotateStore(), SLOTS.length, 1, 128, 0,
                    arguments -> arguments.pointer(qkv).pointer(/* bias */ null).pointer(/* norm of queries */ null)
                            .pointer(/* of keys */ null).real(0).pointer(/* angles */ null).integer(/* turned */ 0)
                            .pointer(positions).pointer(slots).pointer(keys).pointer(values).integer(HEADS)
                            .integer(KV_HEADS).integer(headSize).pointer(null));
            assertThat(arrays.guardIsWhole(keys, (long) BLOCKS * 16 * KV_HEADS * rowBytes)).isTrue();
            assertThat(arrays.guardIsWhole(values, (long) BLOCKS * 16 * KV_HEADS * rowBytes)).isTrue();
        }

        /** A block is the rows of its heads, 16 of each, and behind all of them 16 scales of each. */
        private static byte[] row(MemorySegment plane, int slot, int head, int headSize) {
            long block = slot / 16 * (KV_HEADS * 16L * (headSize + Float.BYTES));
            return plane.asSlice(block + (head * 16L + slot % 16) * headSize, headSize).toArray(ValueLayout.JAVA_BYTE);
        }

        private static float scale(MemorySegment plane, int slot, int head, int headSize) {
            long block = slot / 16 * (KV_HEADS * 16L * (headSize + Float.BYTES));
            return plane.get(ValueLayout.JAVA_FLOAT, block + KV_HEADS * 16L * headSize
                    + (head * 16L + slot % 16) * Float.BYTES);
        }

        private MemorySegment read(DevicePointer plane, int headSize) {
            return arrays.read(plane, (long) BLOCKS * 16 * KV_HEADS * (headSize + Float.BYTES));
        }

        @ParameterizedTest
        @ValueSource(ints = {32, 64, 96, 128, 256})
        void a_row_keeps_its_largest_as_448_times_a_scale_and_a_row_of_zeros_has_1(int headSize) {
            store(headSize, rows(headSize));
            MemorySegment[] planes = {read(keys, headSize), read(values, headSize)};
            for (int row = 0; row < 2; row++) {
                for (int head = 0; head < 2 * KV_HEADS; head++) {
                    float largest = LARGEST[(head + row) % KV_HEADS] / (head < KV_HEADS ? 1 : 2);
                    MemorySegment plane = planes[head / KV_HEADS];
                    byte[] expected = new byte[headSize];
                    if (largest > 0) {
                        expected[0] = 0x08;                        // 2^-6
                        expected[5 + head] = 0x7E;                 // 448
                        expected[headSize - 1] = (byte) 0xF6;      // -224
                    }
                    assertThat(row(plane, SLOTS[row], head % KV_HEADS, headSize)).as("row %d, head %d", row, head)
                            .isEqualTo(expected);
                    assertThat(scale(plane, SLOTS[row], head % KV_HEADS, headSize)).as("row %d, head %d", row, head)
                            .isEqualTo(largest == 0 ? 1 : largest / 448);
                }
            }
        }

        @ParameterizedTest
        @ValueSource(ints = {32, 96})
        void nothing_but_the_rows_of_the_slots_and_their_scales_is_written(int headSize) {
            store(headSize, rows(headSize));
            for (DevicePointer plane : new DevicePointer[] {keys, values}) {
                int written = 0;
                for (byte value : read(plane, headSize).toArray(ValueLayout.JAVA_BYTE)) {
                    written += value == UNTOUCHED ? 0 : 1;
                }
                assertThat(written).isEqualTo(2 * KV_HEADS * (headSize + Float.BYTES));
            }
        }

        /** What a block of threads may have at most on sm_86 and sm_89. */
        @Test
        void decode_of_heads_of_128_over_rows_with_scales_asks_for_99_kibibytes() {
            assertThat(arrays.cacheKernels(CacheType.FP8_E4M3, 128).decodeSharedBytes()).isEqualTo(99 * 1024);
        }

        /** The largest finite number stands for infinity; what is no number stays none, and others of its row stay. */
        @ParameterizedTest
        @ValueSource(ints = {32, 96, 128})
        void scales_are_finite_whatever_a_row_holds(int headSize) {
            float[] rows = rows(headSize);
            int columns = rows.length / SLOTS.length;
            for (int head = 0; head < KV_HEADS; head++) {
                int start = (HEADS + head) * headSize;
                rows[start + 3] = head % 2 == 0 ? Float.NEGATIVE_INFINITY : Float.NaN;
                Arrays.fill(rows, columns + start, columns + start + headSize,
                        new float[] {Float.NaN, Float.POSITIVE_INFINITY, 1e-40f}[head % 3]);
            }
            store(headSize, rows);
            MemorySegment plane = read(keys, headSize);
            float top = Float.MAX_VALUE / 448;
            for (int head = 0; head < KV_HEADS; head++) {
                float largest = LARGEST[head];
                assertThat(scale(plane, SLOTS[0], head, headSize)).as("%d", head)
                        .isEqualTo(head % 2 == 0 ? top : largest / 448);
                assertThat(row(plane, SLOTS[0], head, headSize)[3]).isEqualTo((byte) (head % 2 == 0 ? 0xFE : 0x7F));
                assertThat(row(plane, SLOTS[0], head, headSize)[5 + head])
                        .isEqualTo((byte) (head % 2 == 0 ? 0 : 0x7E));
                assertThat(scale(plane, SLOTS[1], head, headSize)).isEqualTo(head % 3 == 1 ? top : 1);
                assertThat(row(plane, SLOTS[1], head, headSize)).containsOnly(head % 3 == 0 ? 0x7F : head % 3 == 1
                        ? 0x7E : 0);
            }
        }
    }
}
