package dev.warmpath.tokenization;

/**
 * How a model's makers want its tokens drawn where the client says nothing: {@code generation_config.json}, of which
 * vLLM, too, takes temperature, top_k and top_p. Here {@code "do_sample": false} is greedy, as in Hugging Face's
 * {@code generate}; vLLM does not read it.
 *
 * @param temperature 0 = greedy
 * @param topK        0 = all
 * @param topP        1 = all
 */
public record SamplingDefaults(float temperature, int topK, float topP) {

    /** OpenAI's, for models that do not say. */
    public static final SamplingDefaults NONE = new SamplingDefaults(1f, 0, 1f);
}
