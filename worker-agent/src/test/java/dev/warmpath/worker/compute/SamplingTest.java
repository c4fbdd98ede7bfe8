package dev.warmpath.worker.compute;

import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNoException;

import org.junit.jupiter.api.Test;

class SamplingTest {

    @Test
    void parameters_out_of_range_are_refused_with_the_value() {
        assertThatIllegalArgumentException().isThrownBy(() -> new Sampling(1, -0.5f, 0, 1, false))
                .withMessage("temperature is -0.5, takes 0 or 1.0E-4 and above");
        assertThatIllegalArgumentException().isThrownBy(() -> new Sampling(1, Float.NaN, 0, 1, false));
        assertThatIllegalArgumentException().isThrownBy(() -> new Sampling(1, 1e-9f, 0, 1, false));
        assertThatIllegalArgumentException().isThrownBy(() -> new Sampling(1, 1, -1, 1, false))
                .withMessage("topK is -1, takes 0 (off) and above");
        assertThatIllegalArgumentException().isThrownBy(() -> new Sampling(1, 1, 0, 0, false))
                .withMessage("topP is 0.0, takes above 0 up to 1 (off)");
        assertThatIllegalArgumentException().isThrownBy(() -> new Sampling(1, 1, 0, Float.NaN, false));
        assertThatNoException().isThrownBy(() -> new Sampling(-1, 2, 50, 0.95f, true));
    }
}
