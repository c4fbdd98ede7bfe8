package dev.warmpath.router.metrics;

/** Every meter of the router, in the order a request meets them. Prometheus turns the dots into underscores. */
public enum RouterMeter {
    /** Gauges. */
    REQUESTS_IN_FLIGHT("warmpath.in.flight.requests", "Requests under way", "requests"),
    BODY_BYTES("warmpath.body.bytes", "Heap that the bodies of requests under way may take", "bytes"),
    WAITING_REQUESTS("warmpath.waiting.requests", "Requests that wait for their turn at a worker", "requests"),
    /** Counter by limit. */
    ADMISSION_REFUSALS(
            "warmpath.admission.refusals", "Requests refused before they were sent anywhere, by what ran out",
            "requests"),
    /** Counter by endpoint and outcome. */
    REQUESTS("warmpath.requests", "Completions that ended, by how they ended", "requests"),
    /** Timer by stage. */
    STAGE("warmpath.stage", "The router's own work per request, by stage", "seconds"),
    /** Counter by reason. */
    ROUTE_DECISIONS("warmpath.route.decisions", "Workers chosen, by the reason for the choice", "decisions"),
    /** Counter. */
    DECISIONS_DISCARDED("warmpath.discarded.decisions",
            "Decisions missing in the file of decisions, because it could not be written in time", "decisions"),
    /** Counter by cause. */
    DISPATCH_FAILURES("warmpath.dispatch.failures", "Workers' failures of requests, by what was wrong", "failures"),
    /** Counter by cause. */
    DISPATCH_RETRIES("warmpath.dispatch.retries", "Requests sent on to another worker, by what was wrong", "retries"),
    /** Counter by cause. */
    DISPATCH_RETRIES_REFUSED("warmpath.dispatch.retries.refused",
            "Failed requests that were not sent on, because too many were already", "requests"),
    /** Gauge by health. */
    WORKERS("warmpath.workers", "Workers in the fleet, by what this router's requests there have shown", "workers"),
    /** Timer by model, as the client sees it. */
    TIME_TO_FIRST_TOKEN(
            "warmpath.time.to.first.token", "Arrival of a request to the first text of its answer", "seconds"),
    /** Counters by model. Those of cached tokens leave out answers of workers that did not tell. */
    PROMPT_TOKENS("warmpath.prompt.tokens", "Prompt tokens of completions that finished", "tokens"),
    COMPLETION_TOKENS("warmpath.completion.tokens", "Tokens generated for completions that finished", "tokens"),
    PREDICTED_CACHED_TOKENS(
            "warmpath.predicted.cached.tokens", "Prompt tokens that the index expected in the cache", "tokens"),
    ACTUAL_CACHED_TOKENS("warmpath.cached.tokens", "Prompt tokens that the worker found in its cache", "tokens"),
    /** Distribution by model: the index's truth in production. */
    CACHED_TOKENS_ERROR(
            "warmpath.cached.token.error", "Distance of predicted from found cached tokens, per request", "tokens"),
    /** Gauges of what the index holds. */
    INDEX_ENTRIES("warmpath.index.entries", "Pairs of a worker and a block that it announces", "pairs"),
    INDEX_KEYS("warmpath.index.keys", "Different blocks that some worker announces", "blocks"),
    INDEX_HOLDER_SETS("warmpath.index.holder.sets", "Different sets of several workers that share a block", "sets"),
    INDEX_BYTES("warmpath.index.bytes", "Memory of the index's tables", "bytes"),
    /** Gauges of how far it is behind, worst worker. */
    INDEX_LAG("warmpath.index.lag", "How long the copy of some worker has been behind, worst worker", "seconds"),
    INDEX_LAG_BATCHES(
            "warmpath.index.lag.batches", "Batches that the copy of some worker lacks, worst worker", "batches"),
    /** Gauge by grade. */
    INDEX_WORKERS("warmpath.index.workers", "Workers in the index, by how far it can be relied on", "workers"),
    INDEX_NOT_FOLLOWED(
            "warmpath.index.not.followed", "Workers whose events do not come, or not for long", "workers"),
    /** Counters of what came from workers, by whichever way. */
    INDEX_CHANGES("warmpath.index.changes", "Keys that workers announced as stored or removed, known ones too", "keys"),
    INDEX_GAPS("warmpath.index.gaps", "Batches that came without the one before", "gaps"),
    INDEX_DRIFT("warmpath.index.drift", "Copies found to differ from what the worker says it holds", "copies"),
    /** Counter by source: checkpoint in Redis, the worker's snapshot, the beginning of its stream. */
    INDEX_RELOADS("warmpath.index.reloads", "Copies made anew, by where the snapshot came from", "copies"),
    INDEX_REJECTED_BATCHES(
            "warmpath.index.rejected.batches", "Batches that cannot be read or cannot be true", "batches"),
    /** Gauge; only with Redis. */
    REDIS_CONNECTED("warmpath.redis.connected", "Share of the event streams in Redis that are read up to now", "ratio");

    private final String meterName;
    private final String description;
    private final String unit;

    RouterMeter(String meterName, String description, String unit) {
        this.meterName = meterName;
        this.description = description;
        this.unit = unit;
    }

    public String meterName() {
        return meterName;
    }

    public String description() {
        return description;
    }

    public String unit() {
        return unit;
    }
}
