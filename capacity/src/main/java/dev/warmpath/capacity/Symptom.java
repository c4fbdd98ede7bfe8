package dev.warmpath.capacity;

/** What operators see, where to look, and what to set: ours, and what vLLM calls it. */
public enum Symptom {

    LOW_AFTER_RESTART("hit rate low after a restart", "warmpath_kv_blocks_cached, it grows with traffic",
            "wait, or roll one worker at a time", "-"),
    FALLS_UNDER_LOAD("hit rate falls under load", "warmpath_kv_blocks_evicted_total, warmpath_kv_usage_ratio",
            "more workers, or warmpath.kv.memory-utilization", "--gpu-memory-utilization"),
    NEVER_HITS("hit rate near zero all the time", "./warmpath plan analyze of the requests",
            "warmpath.kv.prefix-caching; prompts that begin alike", "--enable-prefix-caching"),
    PREEMPTIONS("preemptions", "warmpath_engine_preemptions_sequences_total", "lower warmpath.scheduler.max-num-seqs,"
            + " more blocks", "--max-num-seqs"),
    WAITING_WITH_ROOM("requests wait though blocks are free", "warmpath_engine_running_sequences against the most"
            + " sequences", "raise warmpath.scheduler.max-num-seqs", "--max-num-seqs"),
    SLOW_FIRST_TOKEN_HITS_HIGH("first tokens slow though hits are high", "warmpath_engine_waiting_sequences,"
            + " warmpath_engine_prompt_pending_tokens", "more workers: the wait is before them, not in the prompt",
            "replicas"),
    SLOW_LONG_PROMPTS("first tokens slow for long prompts alone", "prompt lengths, prompt tokens a second",
            "raise warmpath.scheduler.max-num-batched-tokens", "--max-num-batched-tokens"),
    GAPS_BESIDE_PROMPTS("tokens come slowly while prompts are computed", "time between tokens",
            "lower warmpath.scheduler.max-num-batched-tokens", "--max-num-batched-tokens"),
    ONE_HOT_WORKER("one worker has most requests", "/actuator/decisions: why they went there",
            "warmpath.routing.policy=expected-first-token", "-"),
    IDLE_MEMORY("memory lies idle", "warmpath_kv_usage_ratio far below 0.85", "raise warmpath.scheduler.max-num-seqs",
            "--max-num-seqs"),
    DOES_NOT_FIT("a request is refused: it needs more blocks than there are", "the refusal's numbers",
            "a smaller context, warmpath.kv.memory-utilization, a larger card", "--max-model-len"),
    PREDICTED_NOT_FOUND("hits were predicted and not found", "predicted against actual cached tokens, lag of the index",
            "look at /actuator/prefixindex: gaps, credit", "--kv-events-config"),
    TENANTS_APART("many tenants, few hits", "hit rate by key", "share prompts of one key; salts keep tenants apart on"
            + " purpose", "cache_salt");

    private final String text;
    private final String look;
    private final String setting;
    private final String vllm;

    Symptom(String text, String look, String setting, String vllm) {
        this.text = text;
        this.look = look;
        this.setting = setting;
        this.vllm = vllm;
    }

    public String text() {
        return text;
    }

    /** Where it is seen. */
    public String look() {
        return look;
    }

    /** What to set or do here. */
    public String setting() {
        return setting;
    }

    /** The same in vLLM. */
    public String vllm() {
        return vllm;
    }
}
