package dev.warmpath.worker.compute.cpu;

import static dev.warmpath.worker.compute.cpu.VectorMath.LANES;
import static dev.warmpath.worker.compute.cpu.VectorMath.SPECIES;
import static org.assertj.core.api.Assertions.assertThat;

import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import org.junit.jupiter.api.Test;

class VectorMathTest {

    private static float exp(float x) {
        return VectorMath.exp(FloatVector.broadcast(SPECIES, x)).lane(LANES - 1);
    }

    @Test
    void exp_is_within_two_units_in_the_last_place_over_its_range() {
        for (float x = -87; x < 88; x += 0.0137f) {
            double exact = Math.exp(x);
            assertThat(Math.abs(exp(x) - exact)).isLessThanOrEqualTo(2 * Math.ulp((float) exact));
        }
    }

    private static double exp(double x) {
        return VectorMath.exp(DoubleVector.broadcast(VectorMath.DOUBLES, x)).lane(VectorMath.DOUBLE_LANES - 1);
    }

    @Test
    void exp_of_float64_is_within_two_units_in_the_last_place_over_its_range() {
        for (double x = -708; x < 709; x += 0.0173) {
            double exact = Math.exp(x);
            assertThat(Math.abs(exp(x) - exact)).isLessThanOrEqualTo(2 * Math.ulp(exact));
        }
        assertThat(exp(0.0)).isEqualTo(1);
        assertThat(exp(Double.NEGATIVE_INFINITY)).isZero();
        assertThat(exp(-709.0)).isZero();
        assertThat(exp(1000.0)).isBetween(1e307, Double.MAX_VALUE);
    }

    @Test
    void exp_ends_in_zero_and_in_a_large_finite_number() {
        assertThat(exp(0)).isEqualTo(1f);
        assertThat(exp(Float.NEGATIVE_INFINITY)).isZero();
        assertThat(exp(-88)).isZero();
        assertThat(exp(1000)).isBetween(1e38f, Float.MAX_VALUE);
        assertThat(exp(Float.NaN)).isNaN();
    }
}
