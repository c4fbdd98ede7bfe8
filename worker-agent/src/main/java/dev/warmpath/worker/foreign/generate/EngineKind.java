package dev.warmpath.worker.foreign.generate;

/** What the operator says the engine is. */
public enum EngineKind {
    /** vLLM, 0.10.2 or later. */
    VLLM,
    /** SGLang, with its native {@code /generate}. */
    SGLANG,
    /** Any server with OpenAI's {@code /v1/completions} that takes and gives token ids, or text. */
    OPENAI
}
