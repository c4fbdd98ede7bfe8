package dev.warmpath.router.metrics;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Every meter of the router, in the order a request meets them. Prometheus turns the dots into underscores and appends
 * the unit where the name does not end with it; {@code docs/operations.md} has them all under these names.
 */
public enum RouterMeter {
    CONNECTIONS(Kind.GAUGE, "warmpath.connections", "Connections that are open", "connections", "port"),
    EVENT_LOOP_DELAY(Kind.LATENCY, "warmpath.event.loop.delay",
            "How late an event loop runs what is due, asked ten times a second of each", "seconds"),
    DIRECT_MEMORY_USED(Kind.GAUGE, "warmpath.direct.memory.used",
            "Memory outside of the heap that connections' buffers take", "bytes"),
    DIRECT_MEMORY_LIMIT(Kind.GAUGE, "warmpath.direct.memory.limit", "The most that it may become", "bytes"),
    /** The five of keys only with a file of keys. */
    API_KEYS(Kind.GAUGE, "warmpath.api.keys", "Keys of the public API that are accepted", "keys"),
    API_KEYS_OUTDATED(Kind.GAUGE, "warmpath.api.keys.outdated",
            "1 while the file of keys cannot be read, and those of before are accepted", null),
    KEY_REFUSALS(Kind.COUNTER, "warmpath.key.refusals",
            "Requests that a key, or the lack of one, was refused for, by the key's name", "requests", "key", "cause"),
    KEY_REQUESTS(Kind.COUNTER, "warmpath.key.requests", "Requests that were let in, by the name of their key",
            "requests", "key"),
    KEY_TOKENS(Kind.COUNTER, "warmpath.key.tokens",
            "Tokens of requests that were sent to a worker, by the name of their key", "tokens", "key", "of"),
    REQUESTS_IN_FLIGHT(Kind.GAUGE, "warmpath.in.flight.requests", "Requests under way", "requests"),
    OLDEST_REQUEST_AGE(Kind.GAUGE, "warmpath.oldest.request.age",
            "Since the arrival of the request that has been under way longest; 0 = none is", "seconds"),
    BODY_BYTES(Kind.GAUGE, "warmpath.body.bytes", "Heap that the bodies of requests under way may take", "bytes"),
    TOKENIZER_QUEUE(Kind.GAUGE, "warmpath.tokenizer.queue",
            "Computations that wait for one of the tokenizer's threads", "computations"),
    TOKENIZER_WAIT(Kind.LATENCY, "warmpath.tokenizer.wait",
            "How long computations waited for one of the tokenizer's threads", "seconds"),
    SEGMENTS(Kind.COUNTER, "warmpath.segments",
            "Long pieces of prompts, as messages are, by whether their tokens were known from an earlier prompt",
            "segments", "tokens"),
    SEGMENT_CACHE_BYTES(Kind.GAUGE, "warmpath.segment.cache.bytes",
            "Memory of the tokens that are known of long pieces of prompts", "bytes"),
    CHAIN_BLOCKS(Kind.COUNTER, "warmpath.chain.blocks",
            "Blocks of long prompts, by whether their hash was known from the conversation's last turn", "blocks",
            "hash"),
    RECENT_CHAINS_BYTES(Kind.GAUGE, "warmpath.recent.chains.bytes",
            "Memory of the block hashes of long prompts that came lately", "bytes"),
    TEMPLATE_FAILURES(Kind.COUNTER, "warmpath.template.failures",
            "Chats that the model's template could not turn into text", "chats", "kind"),
    WAITING_REQUESTS(Kind.GAUGE, "warmpath.waiting.requests", "Requests that wait for their turn at a worker",
            "requests"),
    QUEUE_WAIT(Kind.LATENCY, "warmpath.queue.wait",
            "How long requests waited for their turn at a worker, of those that got one", "seconds", "model"),
    ADMISSION_REFUSALS(Kind.COUNTER, "warmpath.admission.refusals",
            "Requests refused before they were sent anywhere, by what ran out", "requests", "limit"),
    ERROR_ANSWERS(Kind.COUNTER, "warmpath.error.answers",
            "Answers of the public API that are an error from the start, by the code that clients read", "answers",
            "code"),
    REQUESTS(Kind.COUNTER, "warmpath.requests", "Completions that ended, by how they ended", "requests",
            "api", "model", "outcome"),
    STAGE(Kind.TIMER, "warmpath.stage", "The router's own work per request, by stage", "seconds", "stage"),
    ROUTE_DECISIONS(Kind.COUNTER, "warmpath.route.decisions", "Workers chosen, by the reason for the choice",
            "decisions", "reason"),
    /** These two only with a policy that is asked beside the one that decides. */
    SHADOW_DECISIONS(Kind.COUNTER, "warmpath.shadow.decisions",
            "Decisions on which the shadow policy was asked, too, by whether it chose the same worker", "decisions",
            "live", "policy", "choice"),
    SHADOW_UNCACHED_TOKENS(Kind.COUNTER, "warmpath.shadow.uncached.tokens",
            "Prompt tokens to be computed by those decisions as the index expects, of either policy's choice", "tokens",
            "live", "policy", "by"),
    DECISIONS_DISCARDED(Kind.COUNTER, "warmpath.discarded.decisions",
            "Requests missing in the file of decisions, because it could not be written in time", "decisions"),
    DISPATCH_FAILURES(Kind.COUNTER, "warmpath.dispatch.failures", "Workers' failures of requests, by what was wrong",
            "failures", "cause"),
    DISPATCH_RETRIES(Kind.COUNTER, "warmpath.dispatch.retries",
            "Requests sent on to another worker, by what was wrong", "retries", "cause"),
    DISPATCH_RETRIES_REFUSED(Kind.COUNTER, "warmpath.dispatch.retries.refused",
            "Failed requests that were not sent on, because too many were already", "requests", "cause"),
    RETRY_BUDGET(Kind.GAUGE, "warmpath.retry.budget", "Further tries that are left for the requests of now", "retries"),
    WORKERS(Kind.GAUGE, "warmpath.workers", "Workers in the fleet, by what this router's requests there have shown",
            "workers", "health"),
    /** One of a worker's states is 1, the others 0. */
    WORKER_STATE(Kind.GAUGE, "warmpath.worker.state", "1 for the state that the worker is in", null,
            "worker", "state"),
    READY_WORKERS(Kind.GAUGE, "warmpath.ready.workers", "Workers that may be asked for the model", "workers", "model"),
    WORKER_ATTEMPTS(Kind.COUNTER, "warmpath.worker.attempts",
            "Requests that ended at a worker, by how they ended there", "attempts", "worker", "outcome"),
    TIME_TO_FIRST_TOKEN(Kind.LATENCY, "warmpath.time.to.first.token",
            "Arrival of a request to the first text of its answer", "seconds", "model"),
    INTER_TOKEN_LATENCY(Kind.LATENCY, "warmpath.inter.token.latency",
            "Between two pieces of text of a streamed answer, as its client takes them", "seconds", "model"),
    REQUEST_DURATION(Kind.LATENCY, "warmpath.request.duration",
            "Arrival of a request to the end of its answer, of those that were answered", "seconds", "model"),
    PROMPT_TOKENS(Kind.COUNTER, "warmpath.prompt.tokens", "Prompt tokens of completions that finished", "tokens",
            "model"),
    COMPLETION_TOKENS(Kind.COUNTER, "warmpath.completion.tokens", "Tokens generated for completions that finished",
            "tokens", "model"),
    /** The four of cached tokens leave out answers of workers that did not tell. */
    FLEET_CACHED_TOKENS(Kind.COUNTER, "warmpath.fleet.cached.tokens",
            "Prompt tokens that the index expected at the worker with the most of them, chosen or not", "tokens",
            "model"),
    PREDICTED_CACHED_TOKENS(Kind.COUNTER, "warmpath.predicted.cached.tokens",
            "Prompt tokens that the index expected in the cache of the chosen worker", "tokens", "model"),
    ACTUAL_CACHED_TOKENS(Kind.COUNTER, "warmpath.cached.tokens",
            "Prompt tokens that the worker found in its cache, and did not have to compute", "tokens", "model"),
    CACHED_TOKENS_ERROR(Kind.TOKENS, "warmpath.cached.token.error",
            "Distance of predicted from found cached tokens, per request", "tokens", "model"),
    /** These three leave out attempts at workers whose pace was not known, and at those that somebody held. */
    PREDICTED_FIRST_TOKEN(Kind.TIMER, "warmpath.predicted.first.token",
            "From a decision to the first token, as it was predicted of the chosen worker", "seconds", "model"),
    ATTEMPT_FIRST_TOKEN(Kind.TIMER, "warmpath.attempt.first.token",
            "From a decision to the first token, as it came from the chosen worker", "seconds", "model"),
    FIRST_TOKEN_ERROR(Kind.LATENCY, "warmpath.first.token.error",
            "Distance of predicted from actual time to the first token, per attempt", "seconds", "model"),
    /** What clients saw, by the policy that decided; without requests on trial, whose worker none has chosen. */
    POLICY_FIRST_TOKEN(Kind.LATENCY, "warmpath.policy.time.to.first.token",
            "Arrival of a request to the first text of its answer, by the policy that placed it", "seconds", "policy"),
    POLICY_PROMPT_TOKENS(Kind.COUNTER, "warmpath.policy.prompt.tokens",
            "Prompt tokens of completions that finished, by the policy that placed them", "tokens", "policy"),
    POLICY_CACHED_TOKENS(Kind.COUNTER, "warmpath.policy.cached.tokens",
            "Of these, tokens that the worker found in its cache", "tokens", "policy"),
    INDEX_ENTRIES(Kind.GAUGE, "warmpath.index.entries", "Pairs of a worker and a block that it announces", "pairs"),
    INDEX_KEYS(Kind.GAUGE, "warmpath.index.keys", "Different blocks that some worker announces", "blocks"),
    INDEX_HOLDER_SETS(Kind.GAUGE, "warmpath.index.holder.sets",
            "Different sets of several workers that share a block", "sets"),
    INDEX_BYTES(Kind.GAUGE, "warmpath.index.bytes", "Memory of the index's tables", "bytes"),
    INDEX_LAG(Kind.GAUGE, "warmpath.index.lag",
            "How long the copy of some worker has been behind, worst worker", "seconds"),
    INDEX_LAG_BATCHES(Kind.GAUGE, "warmpath.index.lag.batches",
            "Batches that the copy of some worker lacks, worst worker", "batches"),
    INDEX_WORKERS(Kind.GAUGE, "warmpath.index.workers", "Workers in the index, by how far it can be relied on",
            "workers", "grade"),
    INDEX_NOT_FOLLOWED(Kind.GAUGE, "warmpath.index.not.followed",
            "Workers whose events do not come, or not for long", "workers"),
    /** These count what came from workers, by whichever way. */
    INDEX_CHANGES(Kind.COUNTER, "warmpath.index.changes",
            "Keys that workers announced as stored or removed, known ones too", "keys"),
    INDEX_GAPS(Kind.COUNTER, "warmpath.index.gaps", "Batches that came without the one before", "gaps"),
    INDEX_DRIFT(Kind.COUNTER, "warmpath.index.drift", "Copies found to differ from what the worker says it holds",
            "copies"),
    /** By source: checkpoint in Redis, the worker's snapshot, the beginning of its stream. */
    INDEX_RELOADS(Kind.COUNTER, "warmpath.index.reloads", "Copies made anew, by where the snapshot came from",
            "copies", "source"),
    INDEX_REJECTED_BATCHES(Kind.COUNTER, "warmpath.index.rejected.batches",
            "Batches that cannot be read or cannot be true", "batches"),
    /** Only with Redis. */
    REDIS_CONNECTED(Kind.GAUGE, "warmpath.redis.connected",
            "Share of the event streams in Redis that are read up to now", "ratio");

    /** How a meter is recorded. */
    public enum Kind {
        GAUGE, COUNTER,
        /** How often and how long. */
        TIMER,
        /** A timer with the buckets of {@link Buckets#LATENCIES}. */
        LATENCY,
        /** Numbers of tokens, with the buckets of {@link Buckets#TOKENS}. */
        TOKENS
    }

    private final Kind kind;
    private final String meterName;
    private final String description;
    private final @Nullable String unit;
    private final List<String> tagKeys;

    RouterMeter(Kind kind, String meterName, String description, @Nullable String unit, String... tagKeys) {
        this.kind = kind;
        this.meterName = meterName;
        this.description = description;
        this.unit = unit;
        this.tagKeys = List.of(tagKeys);
    }

    public Kind kind() {
        return kind;
    }

    public String meterName() {
        return meterName;
    }

    public String description() {
        return description;
    }

    /** Null where the number has none. */
    public @Nullable String unit() {
        return unit;
    }

    /** Of every series of the meter. */
    public List<String> tagKeys() {
        return tagKeys;
    }
}
