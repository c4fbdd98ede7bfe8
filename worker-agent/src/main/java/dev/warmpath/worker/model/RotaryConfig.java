package dev.warmpath.worker.model;

import java.util.List;

/**
 * What a configuration says of rotation. transformers 4 has {@code rope_theta} and, if it is scaled,
 * {@code rope_scaling}; transformers 5 has all of it in {@code rope_parameters}. A file may have kept both.
 */
final class RotaryConfig {

    private final ConfigFile file;
    private final int headSize;
    private final double defaultTheta;
    private final int contextLength;

    /**
     * @param defaultTheta  of the family, where the file has none
     * @param contextLength {@code max_position_embeddings}
     */
    RotaryConfig(ConfigFile file, int headSize, double defaultTheta, int contextLength) {
        this.file = file;
        this.headSize = headSize;
        this.defaultTheta = defaultTheta;
        this.contextLength = contextLength;
        if (file.bool("rope_interleaved", false)) {
            file.refuse("rope_interleaved", "takes false");
        }
    }

    /** Of all layers alike. */
    Rotation rotation() {
        boolean isNewer = file.has("rope_parameters");
        if (isNewer && file.has("rope_scaling")) {
            file.refuse("rope_scaling", "but there are rope_parameters");
        }
        file.pass("rope_scaling");
        return rotation(file.part(isNewer ? "rope_parameters" : "rope_scaling"), "rope_theta", defaultTheta);
    }

    /**
     * Of layers of one type, where types turn differently.
     * @param type   as {@code layer_types} calls it
     * @param older  key of the base that transformers 4 writes
     * @param scales whether {@code rope_scaling}, which it writes, too, is of these layers
     */
    Rotation rotation(String type, String older, double absentTheta, boolean scales) {
        if (file.has("rope_parameters")) {
            return rotation(file.part("rope_parameters").part(type), older, absentTheta);
        }
        return scales ? rotation(file.part("rope_scaling"), older, absentTheta)
                : Rotation.plain(headSize - headSize % 2, file.number(older, absentTheta));
    }

    private Rotation rotation(ConfigFile rope, String older, double absentTheta) {
        // a null is no base, but does no harm beside one
        double theta = rope.has("rope_theta") ? file.number(older, absentTheta, absentTheta)
                : file.number(older, absentTheta);
        double said = rope.number("rope_theta", theta);
        if (file.has(older) && said != theta) {
            rope.refuse("rope_theta", "but %s is %s".formatted(older, theta));
        }
        int size = (int) (headSize * rope.number("partial_rotary_factor", file.number("partial_rotary_factor", 1)));
        if (size == headSize) {
            size -= headSize % 2;                   // heads that have no half are refused as such
        } else if (size < 2 || size > headSize || size % 2 != 0) {
            file.refuse("partial_rotary_factor",
                    "takes one that turns an even part of %d elements".formatted(headSize));
            size = 0;
        }
        return new Rotation(size, said, scaling(rope, size));
    }

    private RotaryScaling scaling(ConfigFile rope, int size) {
        String older = rope.text("type", "default");
        String type = rope.text("rope_type", older);
        int inside = rope.integer("original_max_position_embeddings", contextLength, contextLength);
        int original = file.integer("original_max_position_embeddings", inside, inside);
        return switch (type) {
            // within the context that the model was made for, the frequencies that change with the length are plain
            case "default", "dynamic" -> {
                rope.pass("factor");
                yield new RotaryScaling.Plain();
            }
            case "linear" -> new RotaryScaling.Linear(factor(rope));
            case "llama3" -> llama3(rope, original);
            case "yarn" -> rope.has("short_factor") ? longRope(rope, size, original) : yarn(rope, original);
            case "longrope", "su" -> longRope(rope, size, original);
            default -> {
                rope.refuse(rope.has("rope_type") ? "rope_type" : "type", "which is not implemented");
                yield new RotaryScaling.Plain();
            }
        };
    }

    private static double factor(ConfigFile rope) {
        if (!rope.has("factor")) {
            rope.refuse("factor", "takes a number");
            return 1;
        }
        return rope.number("factor", 1);
    }

    private static RotaryScaling llama3(ConfigFile rope, int original) {
        double low = rope.number("low_freq_factor", 1);
        double high = rope.number("high_freq_factor", 4);
        if (high <= low) {
            rope.refuse("high_freq_factor", "takes one above low_freq_factor, " + low);
        }
        return new RotaryScaling.Llama3(factor(rope), low, high, original);
    }

    private static RotaryScaling yarn(ConfigFile rope, int original) {
        rope.pass("finetuned");
        double factor = factor(rope);
        double amplitude = RotaryScaling.Yarn.temperature(factor, 1);
        if (rope.has("mscale") && rope.has("mscale_all_dim")) {
            amplitude = RotaryScaling.Yarn.temperature(factor, rope.number("mscale", 1))
                    / RotaryScaling.Yarn.temperature(factor, rope.number("mscale_all_dim", 1));
        }
        rope.pass("mscale", "mscale_all_dim");
        return new RotaryScaling.Yarn(factor, original, rope.number("beta_fast", 32, 32),
                rope.number("beta_slow", 1, 1), rope.bool("truncate", true),
                rope.number("attention_factor", amplitude, amplitude));
    }

    private RotaryScaling longRope(ConfigFile rope, int size, int original) {
        double ratio = (double) contextLength / original;
        double factor = rope.number("factor", ratio, ratio);
        double amplitude = RotaryScaling.LongRope.amplitude(
                file.has("original_max_position_embeddings") ? ratio : factor, original);
        if (!Double.isFinite(amplitude)) {
            file.refuse("original_max_position_embeddings", "takes 2 and above");
        }
        return new RotaryScaling.LongRope(factors(rope, "short_factor", size), factors(rope, "long_factor", size),
                original, rope.number("attention_factor", amplitude, amplitude));
    }

    private static List<Double> factors(ConfigFile rope, String key, int size) {
        List<Double> factors = rope.numbers(key);
        if (factors.size() != size / 2) {
            rope.refuse(key, "takes %d numbers".formatted(size / 2));
        }
        return factors;
    }
}
