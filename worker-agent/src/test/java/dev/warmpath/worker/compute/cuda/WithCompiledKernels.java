package dev.warmpath.worker.compute.cuda;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Tests that want the fatbin, or the compiler's reports beside it: left out, aloud, of a build without nvcc. */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(WithCompiledKernels.Packaged.class)
public @interface WithCompiledKernels {

    final class Packaged implements ExecutionCondition {

        @Override
        public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
            return LeftOut.because(CudaDevice.class.getResource("kernels.fatbin") != null ? null
                    : "CUDA KERNELS NOT CHECKED: this build had no nvcc, see src/main/cuda/build.sh");
        }
    }
}
