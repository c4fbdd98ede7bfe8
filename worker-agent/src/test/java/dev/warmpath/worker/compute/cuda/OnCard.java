package dev.warmpath.worker.compute.cuda;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Tests on this machine's first CUDA card: left out, aloud, where none can be opened. */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Tag("cuda-device")
@ExtendWith(OnCard.Present.class)
public @interface OnCard {

    final class Present implements ExecutionCondition {

        /** Asked once: a condition is evaluated for every single test. */
        private static final @Nullable String MISSING = missing();

        private static @Nullable String missing() {
            try (CudaDevice _ = CudaDevice.open(CudaBackends.FIRST_CARD)) {
                return null;
            } catch (CudaUnavailableException noCard) {
                return "NO CUDA CARD: the runner is tested on the emulated device only; " + noCard.getMessage();
            }
        }

        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            return LeftOut.because(MISSING);
        }
    }
}
