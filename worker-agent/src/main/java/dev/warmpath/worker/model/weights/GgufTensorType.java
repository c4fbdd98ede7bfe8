package dev.warmpath.worker.model.weights;

import dev.warmpath.worker.compute.WeightFormat;
import org.jspecify.annotations.Nullable;

/** How a GGUF file numbers the formats of its tensors: ggml.h, enum ggml_type. */
final class GgufTensorType {

    /** By number; empty where there is none any more. */
    private static final String[] NAMES = {"F32", "F16", "Q4_0", "Q4_1", "", "", "Q5_0", "Q5_1", "Q8_0", "Q8_1", "Q2_K",
        "Q3_K", "Q4_K", "Q5_K", "Q6_K", "Q8_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S",
        "IQ4_XS", "I8", "I16", "I32", "I64", "F64", "IQ1_M", "BF16", "", "", "", "TQ1_0", "TQ2_0", "", "", "", "MXFP4"};

    private GgufTensorType() {}

    /** @return null if it is none that is taken */
    static @Nullable WeightFormat format(int number) {
        for (WeightFormat format : WeightFormat.values()) {
            if (number >= 0 && number < NAMES.length && NAMES[number].equals(format.name())) {
                return format;
            }
        }
        return null;
    }

    /** For people. */
    static String name(int number) {
        boolean isKnown = number >= 0 && number < NAMES.length && !NAMES[number].isEmpty();
        return isKnown ? NAMES[number] : "type " + Integer.toUnsignedString(number);
    }
}
