package dev.warmpath.worker.compute.cpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.compute.Philox;
import dev.warmpath.worker.compute.SampledTokens;
import java.util.Arrays;
import java.util.Comparator;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The sampler's short cuts draw what the rule draws, which is written out here over a whole sorted vocabulary. */
class TokenSamplerTest {

    private static final float[] TEMPERATURES = {1e-4f, 0.3f, 0.7f, 1, 1, 2, 100};
    private static final float[] TOP_PS = {1, 1, 0.999999f, 0.95f, 0.9f, 0.5f, 0.1f, 1e-6f};
    /** What sums in another order may decide otherwise. */
    private static final double EDGE = 1e-11;

    private static float logit(int kind, int id, SplittableRandom random) {
        return switch (kind) {
            case 0 -> (float) (3 * random.nextGaussian());
            case 1 -> (float) (0.01 * random.nextGaussian());
            case 2 -> random.nextInt(4);
            case 3 -> random.nextBoolean() ? 0f : -0f;
            case 4 -> random.nextInt(3) == 0 ? Float.NEGATIVE_INFINITY : (float) (5 * random.nextGaussian());
            case 5 -> (float) (1e30 * random.nextGaussian());
            case 6 -> random.nextInt(-500, 500) * Float.MIN_VALUE;
            default -> 20 - (float) Math.log(id + 1) + random.nextInt(3) / 8f;
        };
    }

    /** The rule. @return the token, or −2 where the uniform number lies on an edge between two */
    private static int expected(float[] logits, float temperature, int topK, float topP, double uniform) {
        Integer[] ranks = new Integer[logits.length];
        Arrays.setAll(ranks, id -> id);
        Arrays.sort(ranks, Comparator.<Integer>comparingDouble(id -> -(logits[id] + 0f)).thenComparingInt(id -> id));
        double[] weights = new double[logits.length];
        for (int id = 0; id < logits.length; id++) {
            weights[id] = Math.exp((logits[id] - (double) logits[ranks[0]]) / temperature);
        }
        int stays = topK > 0 ? Math.min(topK, logits.length) : logits.length;
        double total = 0;
        for (int rank = 0; rank < stays; rank++) {
            total += weights[ranks[rank]];
        }
        boolean[] kept = new boolean[logits.length];
        double mass = 0;
        for (int rank = 0; rank < stays && (rank == 0 || topP == 1 || mass < topP * total); rank++) {
            kept[ranks[rank]] = true;
            mass += weights[ranks[rank]];
            if (topP < 1 && Math.abs(mass - topP * total) < EDGE * total) {
                return -2;
            }
        }
        double cumulative = 0;
        for (int id = 0; id < logits.length; id++) {
            if (kept[id] && weights[id] > 0) {
                cumulative += weights[id];
                if (Math.abs(cumulative - uniform * mass) < EDGE * mass) {
                    return -2;
                }
                if (cumulative > uniform * mass) {
                    return id;
                }
            }
        }
        throw new AssertionError("the sum is the mass");
    }

    @ParameterizedTest
    @CsvSource({"1, 40", "2, 200", "33, 600", "1000, 500", "1024, 100", "5003, 250"})
    void tokens_are_those_of_the_rule(int size, int draws) {
        var random = new SplittableRandom(size);
        var plain = new TokenSampler(new LogitLoops());
        var vector = new TokenSampler(new VectorLogitLoops());
        int[] topKs = {0, 0, 1, 2, 5, 50, size - 1, size, size + 1};
        int onEdge = 0;
        for (int draw = 0; draw < draws; draw++) {
            int kind = random.nextInt(8);
            float[] row = new float[size + 3];
            Arrays.fill(row, Float.NaN);                             // what lies around a row is nobody's business
            for (int id = 0; id < size; id++) {
                row[2 + id] = logit(kind, id, random);
            }
            float[] logits = Arrays.copyOfRange(row, 2, 2 + size);
            float temperature = TEMPERATURES[random.nextInt(TEMPERATURES.length)];
            int topK = topKs[random.nextInt(topKs.length)];
            float topP = TOP_PS[random.nextInt(TOP_PS.length)];
            int expected = allMasked(logits) ? SampledTokens.NO_TOKEN
                    : expected(logits, temperature, topK, topP, Philox.uniform(draw, 7));
            if (expected == -2) {
                onEdge++;
                continue;
            }
            String what = "draw %d of kind %d, temperature %s, top-k %d, top-p %s"
                    .formatted(draw, kind, temperature, topK, topP);
            assertThat(plain.draw(row, 2, size, temperature, topK, topP, draw, 7)).as(what).isEqualTo(expected);
            assertThat(vector.draw(row, 2, size, temperature, topK, topP, draw, 7)).as(what).isEqualTo(expected);
        }
        assertThat(onEdge).isLessThan(draws / 3);
    }

    private static boolean allMasked(float[] logits) {
        for (float logit : logits) {
            if (logit != Float.NEGATIVE_INFINITY) {
                return false;
            }
        }
        return true;
    }
}
