package dev.warmpath.worker.compute.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.compute.CacheType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Attention kernels with pieces and tiles of any size, against each other: what {@link PagedAttentionContract}, which
 * compares with float64, leaves to the plan. One sequence of 299 positions; its block table names no block after them.
 */
class AttentionKernelsTest {

    @Nested
    @OnEmulatedDevice
    class OnTheEmulatedDevice extends Cases {}

    @Nested
    @OnCard
    class OnACard extends Cases {}

    abstract static class Cases extends OnDevices {

        private static final int KV_HEADS = 2;
        private static final int HEADS = 6;
        private static final int CONTEXT = 299;
        private static final int TABLE_COLUMNS = 24;
        private static final int BLOCKS = 20;
        /** Values are below 2; a weight and a result are rounded to eight bits. */
        private static final float TOLERANCE = 0x1p-7f;

        /** The sequence in a cache, with query rows for all its positions. Without angles: nothing turns. */
        private final class World {

            private final int headSize;
            private final CacheKernels kernels;
            private final DevicePointer qkv;
            private final DevicePointer keys;
            private final DevicePointer values;
            private final int[] table = new int[TABLE_COLUMNS];

            World(CacheType type, int headSize) {
                this.headSize = headSize;
                this.kernels = arrays.cacheKernels(type, headSize);
                var random = new Random(headSize);
                float[] numbers = new float[CONTEXT * columns()];
                for (int i = 0; i < numbers.length; i++) {
                    numbers[i] = 4 * random.nextFloat() - 2;
                }
                qkv = arrays.bf16(numbers);
                long rowBytes = headSize * type.bytes() + type.scaleBytes();
                keys = arrays.empty(BLOCKS * 16 * KV_HEADS * rowBytes);
                values = arrays.empty(BLOCKS * 16 * KV_HEADS * rowBytes);
                shuffleTable(random);
                store();
            }

            private int columns() {
                return (HEADS + 2 * KV_HEADS) * headSize;
            }

            private void shuffleTable(Random random) {
                List<Integer> blocks = new ArrayList<>(IntStream.range(1, BLOCKS).boxed().toList());
                Collections.shuffle(blocks, random);
                Arrays.fill(table, -1);
                for (int i = 0; i < blocks.size(); i++) {
                    table[i] = blocks.get(i);
                }
            }

            private void store() {
                float[] angles = new float[headSize];
                Arrays.fill(angles, 0, headSize / 2, 1);
                DevicePointer rotary = arrays.floats(angles);
                DevicePointer positions = arrays.ints(new int[CONTEXT]);
                DevicePointer slots = arrays.ints(IntStream.range(0, CONTEXT).map(i -> table[i / 16] * 16 + i % 16)
                        .toArray());
                arrays.run(kernels.rotateStore(), CONTEXT, 1, 128, 0, arguments -> arguments.pointer(qkv)
                        .pointer(/* bias */ null).pointer(/* norm of queries */ null).pointer(/* of keys */ null).real(0)
                        .pointer(rotary).integer(headSize).pointer(positions).pointer(slots).pointer(keys)
                        .pointer(values).integer(HEADS).integer(KV_HEADS).integer(headSize).pointer(null));
            }

            private Arguments cache(Arguments arguments, DevicePointer tables) {
                return arguments.pointer(qkv).integer(columns()).pointer(keys).pointer(values).pointer(tables)
                        .integer(TABLE_COLUMNS);
            }

            private float scaleLog2() {
                return (float) (1 / Math.log(2) / Math.sqrt(headSize));
            }

            /**
             * Row r attends to the first lengths[r] positions, a piece of at most pieceBlocks blocks at a time.
             * @return [lengths.length, HEADS * headSize]
             */
            float[] decode(int pieceBlocks, int... lengths) {
                int[] tables = new int[lengths.length * TABLE_COLUMNS];
                List<int[]> pieces = new ArrayList<>();
                List<int[]> sums = new ArrayList<>();
                int partials = 0;
                for (int row = 0; row < lengths.length; row++) {
                    int blocks = Math.ceilDiv(lengths[row], 16);
                    Arrays.fill(tables, row * TABLE_COLUMNS, (row + 1) * TABLE_COLUMNS, -1);
                    System.arraycopy(table, 0, tables, row * TABLE_COLUMNS, blocks);
                    int count = Math.max(1, Math.ceilDiv(blocks, pieceBlocks));
                    if (count > 1) {
                        sums.add(new int[] {row, partials, count, 0});
                    }
                    for (int first = 0; first == 0 || first < blocks; first += pieceBlocks) {
                        pieces.add(new int[] {row, row, first, Math.min(16 * pieceBlocks, lengths[row] - 16 * first),
                                count > 1 ? partials++ : -1, 1, 0, 0});
                    }
                }
                int[] header = {pieces.size(), sums.size(), 4 + 8 * pieces.size(), 0};
                var nonsense = IntStream.generate(() -> -7).limit(2 * 8);      // for two thread blocks too many
                DevicePointer plan = arrays.ints(Stream.of(IntStream.of(header),
                        pieces.stream().flatMapToInt(Arrays::stream), sums.stream().flatMapToInt(Arrays::stream),
                        nonsense).flatMapToInt(ints -> ints).toArray());
                DevicePointer partialOutputs = arrays.empty(4L * HEADS * headSize * Math.max(1, partials));
                DevicePointer partialStats = arrays.empty(8L * HEADS * Math.max(1, partials));
                DevicePointer sent = arrays.ints(tables);
                DevicePointer output = arrays.empty(2L * HEADS * headSize * lengths.length);
                arrays.run(kernels.attention().decode(), KV_HEADS, pieces.size() + 2, 128, kernels.decodeSharedBytes(),
                        arguments -> cache(arguments, sent).pointer(plan).pointer(partialOutputs).pointer(partialStats)
                                .pointer(output).integer(HEADS).integer(KV_HEADS).real(scaleLog2()));
                arrays.run(kernels.reduce(), HEADS, sums.size() + 2, 32, 0, arguments -> arguments.pointer(plan)
                        .pointer(partialOutputs).pointer(partialStats).pointer(output).integer(HEADS));
                assertThat(arrays.guardIsWhole(output, 2L * HEADS * headSize * lengths.length)).isTrue();
                return arrays.readBf16(output, HEADS * headSize * lengths.length);
            }

            /** Rows first … first + count - 1 as one tile. @return [count, HEADS * headSize] */
            float[] prefill(int first, int count) {
                int rowBytes = 2 * HEADS * headSize;
                int[] seen = Arrays.copyOf(table, TABLE_COLUMNS);
                Arrays.fill(seen, Math.ceilDiv(first + count, 16), TABLE_COLUMNS, -1);
                DevicePointer sent = arrays.ints(seen);
                DevicePointer tiles = arrays.ints(0, first, first, count);
                DevicePointer output = arrays.empty((long) CONTEXT * rowBytes);
                arrays.run(kernels.attention().prefill(), HEADS, 1, 128, kernels.prefillSharedBytes(), arguments ->
                        cache(arguments, sent).pointer(tiles).pointer(output).integer(HEADS).integer(KV_HEADS)
                                .real(scaleLog2()));
                assertThat(arrays.guardIsWhole(output, (long) (first + count) * rowBytes)).isTrue();
                return arrays.readBf16(output.plus((long) first * rowBytes, (long) count * rowBytes),
                        count * HEADS * headSize);
            }
        }

        private static void assertClose(float[] actual, float[] expected) {
            assertThat(actual).hasSameSizeAs(expected);
            for (int i = 0; i < actual.length; i++) {
                assertThat(Math.abs(actual[i] - expected[i])).as("%d", i).isLessThanOrEqualTo(TOLERANCE);
            }
        }

        @ParameterizedTest
        @CsvSource({"BF16, 32", "BF16, 128", "FP8_E4M3, 32", "FP8_E4M3, 128"})
        void no_order_of_warps_and_lanes_changes_a_bit(CacheType type, int headSize) {
            float[][] first = {};
            for (int seed = 1; seed <= 4; seed++) {
                arrays.schedule(seed);
                var world = new World(type, headSize);
                float[][] results = {world.decode(6, 299, 77), world.prefill(100, 70)};
                if (seed > 1) {
                    assertThat(results).as("seed %d", seed).isDeepEqualTo(first);
                }
                first = results;
            }
        }

        @ParameterizedTest
        @EnumSource(value = CacheType.class, names = {"BF16", "FP8_E4M3"})
        void pieces_of_any_size_add_up_to_the_whole_and_no_positions_to_zeros(CacheType type) {
            var world = new World(type, 64);
            int[] lengths = {1, 16, 17, 130, 299, 0};
            float[] whole = world.decode(1000, lengths);
            for (int pieceBlocks : new int[] {1, 3, 8}) {
                assertClose(world.decode(pieceBlocks, lengths), whole);
            }
            assertThat(Arrays.copyOfRange(whole, whole.length - HEADS * 64, whole.length)).containsOnly(0);
        }

        /** 64 rows are one fragment tile a warp, more are two. */
        @ParameterizedTest
        @CsvSource({"BF16, 128", "FP8_E4M3, 64"})
        void a_row_of_a_tile_attends_as_a_sequence_of_its_length_decodes(CacheType type, int headSize) {
            var world = new World(type, headSize);
            for (int[] tile : new int[][] {{0, 1}, {40, 16}, {63, 64}, {0, 65}, {171, 128}}) {
                int width = HEADS * headSize;
                float[] rows = world.prefill(tile[0], tile[1]);
                for (int row : new int[] {0, tile[1] / 2, tile[1] - 1}) {
                    int[] lengths = new int[tile[0] + row + 1];     // row r of qkv asks in row r of the plan
                    lengths[tile[0] + row] = tile[0] + row + 1;
                    float[] decoded = world.decode(1000, lengths);
                    assertClose(Arrays.copyOfRange(rows, row * width, (row + 1) * width),
                            Arrays.copyOfRange(decoded, decoded.length - width, decoded.length));
                }
            }
        }
    }
}
