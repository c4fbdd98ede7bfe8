package dev.warmpath.router.tokenization;

/**
 * How a model's makers want its tokens drawn where the client says nothing: {@code generation_config.json}, as vLLM and
 * Hugging Face read it. {@code "do_sample": false} is greedy there, so it is here.
 *
 * @param temperature 0 = greedy
 * @param topK        0 = all
 * @param topP        1 = all
 */
public record SamplingDefaults(float temperature, int topK, float topP) {

    /** OpenAI's, for models that do not say. */
    public static final SamplingDefaults NONE = new SamplingDefaults(1f, 0, 1f);
}
