package dev.warmpath.router.completion;

import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.tokenization.SamplingDefaults;
import org.jspecify.annotations.Nullable;

/**
 * The sampling parameters that a request sets, or null; those that it leaves open are the model's defaults.
 *
 * @param temperature 0, or {@link SamplingParameters#MIN_TEMPERATURE} to {@link SamplingParameters#MAX_TEMPERATURE}
 * @param topK        at least 0; 0 = all
 * @param topP        above 0, at most 1
 * @param seed        the client's, or one drawn for this request
 */
public record SamplingOverrides(@Nullable Float temperature, @Nullable Integer topK, @Nullable Float topP, long seed) {

    SamplingOverrides withSeed(long other) {
        return new SamplingOverrides(temperature, topK, topP, other);
    }

    SamplingParameters orElse(SamplingDefaults defaults) {
        return new SamplingParameters(temperature == null ? defaults.temperature() : temperature,
                topK == null ? defaults.topK() : topK, topP == null ? defaults.topP() : topP, seed);
    }
}
