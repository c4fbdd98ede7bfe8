package dev.warmpath.worker.compute.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.Bf16;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.ComputeBackend;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.UnaryOperator;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Attention in shapes that kernels cut into pieces and tiles: the length of the error over that of the float64 result,
 * printed for each sequence. bfloat16 keeps eight bits: a rounded weight and a rounded result come to about 3e-3.
 */
abstract class PagedAttentionContract {

    private static final double BOUND = 1e-2;
    /** Of e4m3's four bits: half a step of an element is 1/16 of it at most, 1/28 in the mean. */
    private static final double FP8_BOUND = 8e-2;
    /** Of keys with a large bias: with scales 4e-2 to 8.2e-2 was seen, without them 2.7e-1 to 5.3e-1. */
    private static final double BIAS_BOUND = 1.2e-1;
    private static final UnaryOperator<double[]> UNROUNDED = row -> row;

    abstract ComputeBackend create(CacheType cacheType);

    /** How a cache keeps a key or value of one head, but for bfloat16, whose numbers these are. */
    private static UnaryOperator<double[]> kept(CacheType type) {
        return type == CacheType.FP8_E4M3 ? PagedAttentionContract::scaledE4m3 : UNROUNDED;
    }

    private void check(String what, PagedSequences sequences, CacheType type, UnaryOperator<double[]> kept,
            double bound) {
        List<float[]> actual = sequences.attend(create(type));
        for (int i = 0; i < sequences.count(); i++) {
            double error = error(actual.get(i), sequences.reference(i, kept));
            if (sequences.sequence(i).tokens() > 0) {
                System.out.printf(Locale.ROOT, "%s, %d of %d positions: error/reference = %.2e%n", what,
                        sequences.sequence(i).tokens(), sequences.sequence(i).context(), error);
            }
            assertThat(error).as("sequence %d", i).isLessThanOrEqualTo(bound);
        }
    }

    /** 0 for a sequence without tokens; NaN, which is below no bound, if a number is not finite. */
    private static double error(float[] actual, double[] expected) {
        assertThat(actual).hasSameSizeAs(expected);
        double error = IntStream.range(0, actual.length).mapToDouble(i -> Math.pow(actual[i] - expected[i], 2)).sum();
        double length = DoubleStream.of(expected).map(x -> x * x).sum();
        return actual.length == 0 ? 0 : Math.sqrt(error / length);
    }

    @ParameterizedTest
    @CsvSource({"8, 2, 64", "6, 2, 32", "16, 1, 128", "2, 2, 128"})
    void decoding_equals_float64_at_awkward_lengths(int heads, int kvHeads, int headSize) {
        var sequences = new PagedSequences(heads, kvHeads, headSize).add(0, 0);
        for (int length : new int[] {1, 15, 16, 17, 33, 4_097}) {
            sequences.add(length, 1);
        }
        check("decode, %d/%d heads of %d".formatted(heads, kvHeads, headSize), sequences, CacheType.BF16, UNROUNDED,
                BOUND);
    }

    @Test
    void a_long_sequence_alone_is_cut_into_pieces_and_joined() {
        check("decode alone", new PagedSequences(8, 2, 64).add(4_097, 1), CacheType.BF16, UNROUNDED, BOUND);
    }

    @ParameterizedTest
    @CsvSource({"8, 2, 64", "6, 2, 32", "2, 1, 128"})
    void whole_prompts_and_chunks_behind_a_context_equal_float64_beside_sequences_that_decode(int heads, int kvHeads,
            int headSize) {
        var sequences = new PagedSequences(heads, kvHeads, headSize).add(0, 0).add(200, 1);
        for (int length : new int[] {15, 16, 17, 33, 300}) {
            sequences.add(length, length);
        }
        sequences.add(200, 2).add(129, 128).add(4_097, 17).add(1, 1);
        check("prefill, %d/%d heads of %d".formatted(heads, kvHeads, headSize), sequences, CacheType.BF16, UNROUNDED,
                BOUND);
    }

    @Test
    void a_prompt_in_chunks_equals_float64_whatever_the_chunks() {
        for (int tokens : new int[] {1, 7, 64, 129}) {
            check("last chunk", new PagedSequences(6, 2, 32).add(300, tokens), CacheType.BF16, UNROUNDED, BOUND);
        }
    }

    /** Tokens in runs of 16 / group, before positions that some of a run's tokens do not see; on a card, one by one. */
    @ParameterizedTest
    @CsvSource({"8, 2, 64, BF16", "6, 2, 32, BF16", "2, 1, 128, BF16", "2, 2, 64, BF16", "16, 1, 32, BF16",
        "6, 2, 32, FP8_E4M3", "2, 1, 128, FP8_E4M3"})
    void a_short_suffix_behind_a_long_context_equals_float64(int heads, int kvHeads, int headSize, CacheType type) {
        for (int tokens : new int[] {3, 17, 64}) {
            for (int behind : new int[] {8 * tokens, 8 * tokens + 5}) {
                check("suffix, %d/%d heads of %d".formatted(heads, kvHeads, headSize),
                        new PagedSequences(heads, kvHeads, headSize).add(tokens + behind, tokens), type,
                        kept(type), BOUND);
            }
        }
    }

    /** Windows that end in the first turn, in pieces, before and behind edges of blocks; what they hide holds NaN. */
    @ParameterizedTest
    @CsvSource({"8, 2, 64, BF16, 1, 0", "8, 2, 64, BF16, 37, 0", "6, 2, 32, BF16, 128, 0", "2, 1, 128, BF16, 129, 5",
        "8, 2, 64, BF16, 1000, 0", "6, 2, 32, BF16, 0, 3", "6, 2, 32, FP8_E4M3, 50, 4", "2, 1, 128, FP8_E4M3, 700, 0",
        "2, 2, 96, BF16, 45, 0", "3, 1, 96, FP8_E4M3, 200, 6", "2, 1, 256, BF16, 100, 7", "2, 1, 256, FP8_E4M3, 0, 0"})
    void windows_and_caps_equal_float64_when_decoding_behind_a_context_and_in_whole_prompts(int heads, int kvHeads,
            int headSize, CacheType type, int window, double cap) {
        var spec = new AttentionSpec(0.7 / Math.sqrt(headSize), window, cap, false);
        var sequences = new PagedSequences(heads, kvHeads, headSize, spec).add(0, 0).add(1, 1).add(16, 1).add(37, 1)
                .add(1_500, 1).add(15, 15).add(300, 300).add(129, 128).add(900, 17).add(777, 130);
        check("window %d, cap %s, %d/%d heads of %d".formatted(window, cap, heads, kvHeads, headSize), sequences, type,
                kept(type), BOUND);
        for (int tokens : new int[] {3, 40}) {
            check("a suffix alone", new PagedSequences(heads, kvHeads, headSize, spec).add(1_200 + tokens, tokens),
                    type, kept(type), BOUND);
        }
    }

    @Test
    void suffixes_and_sequences_that_decode_share_a_step() {
        check("suffixes beside decode", new PagedSequences(2, 2, 64).add(500, 20).add(333, 1).add(90, 10).add(0, 0)
                .add(1, 1), CacheType.BF16, UNROUNDED, BOUND);
    }

    @Test
    void a_sequence_in_a_crowd_of_32_gets_what_it_gets_alone() {
        var crowd = new PagedSequences(6, 2, 32);
        for (int i = 0; i < 32; i++) {
            crowd.add(1 + 37 * i % 500, 1);
        }
        List<float[]> together = crowd.attend(create(CacheType.BF16));
        for (int i = 0; i < 32; i += 5) {
            float[] alone = crowd.only(i).attend(create(CacheType.BF16)).getFirst();
            double[] expected = IntStream.range(0, alone.length).mapToDouble(e -> alone[e]).toArray();
            assertThat(error(together.get(i), expected)).isLessThanOrEqualTo(BOUND);
        }
    }

    @ParameterizedTest
    @CsvSource({"8, 2, 64", "6, 2, 32", "2, 1, 128"})
    void keys_and_values_of_one_byte_equal_float64_over_what_the_cache_keeps(int heads, int kvHeads, int headSize) {
        var sequences = new PagedSequences(heads, kvHeads, headSize).add(0, 0).add(17, 17).add(300, 40);
        for (int length : new int[] {1, 15, 16, 17, 33, 1_025}) {
            sequences.add(length, 1);
        }
        check("fp8, %d/%d heads of %d".formatted(heads, kvHeads, headSize), sequences, CacheType.FP8_E4M3,
                PagedAttentionContract::scaledE4m3, BOUND);
    }

    /** What the codes of e4m3 stand for, in their order: a sign, 4 bits of exponent, 3 of mantissa; 127 and 255 NaN. */
    private static float[] codes() {
        float[] codes = new float[256];
        for (int code = 0; code < 256; code++) {
            int exponent = code >> 3 & 15;
            int mantissa = exponent == 0 ? code & 7 : 8 | code & 7;
            double magnitude = (code & 127) == 127 ? Double.NaN : mantissa * Math.pow(2, Math.max(exponent, 1) - 10);
            codes[code] = (float) (code < 128 ? magnitude : -magnitude);
        }
        return codes;
    }

    /** One position takes all the weight, whatever its key: its value comes out bit by bit. */
    @Test
    void every_code_of_one_byte_is_read_as_its_exact_value_by_decode_and_prefill() {
        float[] codes = codes();
        assertThat(new float[] {codes[1], codes[7], codes[8], codes[0xFE]}).containsExactly(0x1p-9f, 7 * 0x1p-9f,
                0x1p-6f, -448);
        float[] alone = new float[3 * 256];                       // two heads of 128: queries, keys, values
        System.arraycopy(codes, 0, alone, 256, 256);
        System.arraycopy(codes, 0, alone, 512, 256);
        Arrays.fill(alone, 256 + 127, 256 + 128, 0);              // a key of NaN would spoil the weight
        Arrays.fill(alone, 256 + 255, 256 + 256, 0);
        float[] prompt = Arrays.copyOf(alone, 2 * alone.length);
        List<float[]> rows = new PagedSequences(2, 2, 128).add(alone, 1).add(prompt, 2)
                .attend(create(CacheType.FP8_E4M3));
        for (float[] row : rows) {
            for (int code = 0; code < 256; code++) {
                if (Float.isNaN(codes[code])) {                   // widened on a card without a special case for it
                    assertThat(Float.isNaN(row[code]) || Math.abs(row[code]) == 480).as("%x", code).isTrue();
                } else {
                    assertThat(row[code] == codes[code]).as("%x: %s", code, row[code]).isTrue();
                }
            }
        }
    }

    /** A key of one number beside one of zeros: its weight differs by 1.5 % and more from those of the codes beside. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void every_code_of_one_byte_counts_in_a_key_as_what_it_is(int tokens) {
        float[] codes = codes();
        var sequences = new PagedSequences(1, 1, 64);
        for (int code = 0; code < 256; code++) {
            if (!Float.isNaN(codes[code])) {
                int element = code % 64;
                float[] qkv = new float[2 * 3 * 64];
                float unit = Math.max(Math.scalb(1f, Math.getExponent(codes[code])), 0x1p-9f);
                qkv[element] = 8 / unit;                          // times a code: 8 to 16, over sqrt(64): 1 to 2
                qkv[3 * 64 + element] = 8 / unit;
                qkv[64 + element] = codes[code];
                qkv[64 + (element + 1) % 64] = 448;               // so that the scale is 1; no query asks for it
                Arrays.fill(qkv, 128, 192, 1);                    // the first position's value; the second's is 0
                sequences.add(qkv, tokens);
            }
        }
        List<float[]> rows = sequences.attend(create(CacheType.FP8_E4M3));
        for (int i = 0; i < sequences.count(); i++) {
            double[] expected = sequences.reference(i, UNROUNDED);
            double actual = rows.get(i)[rows.get(i).length - 1];
            assertThat(Math.abs(actual / expected[expected.length - 1] - 1)).as("%s", i).isLessThan(0.006);
        }
    }

    @Test
    void one_byte_instead_of_two_costs_less_than_its_bound() {
        var sequences = new PagedSequences(8, 2, 64).add(17, 17);
        for (int length : new int[] {1, 15, 16, 33, 1_025}) {
            sequences.add(length, 1);
        }
        check("fp8 against unrounded", sequences, CacheType.FP8_E4M3, UNROUNDED, FP8_BOUND);
    }

    /**
     * Some elements of keys have a bias of 900, turned by their position; queries ask little for them, so that scores
     * stay where a softmax gives weight to many. Without scales 448 would be left of all that is beyond.
     */
    @ParameterizedTest
    @CsvSource({"6, 2, 32", "8, 2, 64", "3, 1, 96", "2, 1, 128", "2, 1, 256"})
    void keys_with_a_bias_of_900_deviate_by_less_than_they_would_without_scales(int heads, int kvHeads, int headSize) {
        int[] biased = {1, 9, headSize - 5};
        var sequences = new PagedSequences(heads, kvHeads, headSize);
        for (int[] shape : new int[][] {{300, 1}, {200, 200}, {77, 1}}) {
            float[] qkv = new PagedSequences(heads, kvHeads, headSize).add(shape[0], 1).sequence(0).qkv();
            int columns = qkv.length / shape[0];
            for (int i = 0; i < qkv.length; i++) {
                int element = i % columns % headSize;
                for (int k = 0; k < biased.length; k++) {
                    if (element == biased[k] && i % columns < heads * headSize) {
                        qkv[i] = bf16(0.02 * qkv[i]);
                    } else if (element == biased[k] && i % columns < (heads + kvHeads) * headSize) {
                        qkv[i] = bf16(qkv[i] + 900 * Math.cos(0.1 * (k + 1) * (i / columns)));
                    }
                }
            }
            sequences.add(qkv, shape[1]);
        }
        List<float[]> actual = sequences.attend(create(CacheType.FP8_E4M3));
        for (int i = 0; i < sequences.count(); i++) {
            double[] expected = sequences.reference(i, UNROUNDED);
            double error = error(actual.get(i), expected);
            double unscaled = error(floats(sequences.reference(i, row -> DoubleStream.of(row)
                    .map(PagedAttentionContract::e4m3).toArray())), expected);
            System.out.printf(Locale.ROOT, "keys with a bias of 900, %d/%d heads of %d, %d positions: "
                    + "error/reference = %.2e, without scales %.2e%n", heads, kvHeads, headSize,
                    sequences.sequence(i).context(), error, unscaled);
            assertThat(error).as("sequence %d", i).isLessThan(BIAS_BOUND);
            assertThat(unscaled).as("sequence %d without scales", i).isGreaterThan(BIAS_BOUND);
        }
    }

    private static float bf16(double value) {
        return Bf16.toFloat(Bf16.of((float) value));
    }

    private static float[] floats(double[] values) {
        float[] floats = new float[values.length];
        for (int i = 0; i < floats.length; i++) {
            floats[i] = (float) values[i];
        }
        return floats;
    }

    /** A row over its scale, which is a float32, and back. */
    private static double[] scaledE4m3(double[] row) {
        double largest = DoubleStream.of(row).map(Math::abs).max().orElseThrow();
        double scale = largest == 0 ? 1 : (float) largest / 448f;
        return DoubleStream.of(row).map(x -> e4m3(x / scale) * scale).toArray();
    }

    /** The nearest number of four bits, of two equally near the even one; below 2^-6 in steps of 2^-9. */
    private static double e4m3(double value) {
        double step = Math.max(Math.ulp((float) Math.abs(value)) * 0x1p20, 0x1p-9);
        return Math.clamp(Math.rint(value / step) * step, -448, 448);
    }
}
