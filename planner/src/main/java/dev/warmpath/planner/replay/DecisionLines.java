package dev.warmpath.planner.replay;

import dev.warmpath.planner.replay.Replay.Decided;
import dev.warmpath.planner.simulation.Policies;
import dev.warmpath.planner.trace.JsonLines;
import dev.warmpath.router.decisions.Sight;
import dev.warmpath.router.routing.PolicyName;
import java.io.IOException;
import java.nio.file.Path;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A router's log of requests, {@code warmpath.decisions.file}, read for a replay. */
public final class DecisionLines implements AutoCloseable {

    /** A router of a later version may write more. */
    private static final JsonMapper JSON = JsonMapper.builder()
            .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES).build();

    private final JsonLines lines;
    private long requests;

    private DecisionLines(JsonLines lines) {
        this.lines = lines;
    }

    /** @throws IOException if the file cannot be read */
    public static DecisionLines open(Path file) throws IOException {
        return new DecisionLines(JsonLines.open(file));
    }

    /**
     * Replays the decisions of the next line.
     *
     * @return false after the last one
     * @throws dev.warmpath.planner.trace.TraceException if it is no line of such a log
     */
    public boolean next(Replay replay) throws IOException {
        JsonNode line = lines.next();
        if (line == null) {
            return false;
        }
        JsonNode decisions = line.path("decisions");
        if (!decisions.isArray()) {
            throw lines.problem("it is no line of a router's log of requests: decisions is missing");
        }
        for (JsonNode decision : decisions) {
            if (decision.hasNonNull("sight")) {
                add(replay, decided(decision), sight(decision.path("sight")),
                        decision.path("candidate_count").asInt(0));
            } else {
                replay.addWithoutSight();
            }
            tellOutcome(decision, replay.outcomes());
        }
        requests++;
        return true;
    }

    private Decided decided(JsonNode decision) throws IOException {
        PolicyName policy = Policies.named(decision.path("policy").asString(""));
        if (policy == null || !decision.path("worker").isString() || !decision.path("reason").isString()) {
            throw lines.problem("a decision has a policy, a worker and a reason, each by its name");
        }
        return new Decided(policy, decision.path("worker").asString(), decision.path("reason").asString());
    }

    private void add(Replay replay, Decided decided, Sight sight, int candidateCount) throws IOException {
        try {
            replay.add(decided, sight, candidateCount);
        } catch (IllegalArgumentException | NullPointerException e) {
            throw lines.problem("sight makes no decision: " + e.getMessage());
        }
    }

    private Sight sight(JsonNode node) throws IOException {
        try {
            return JSON.treeToValue(node, Sight.class);
        } catch (JacksonException e) {
            throw lines.problem("sight is not as a router writes it: " + e.getOriginalMessage().lines().findFirst()
                    .orElse(""));
        }
    }

    private static void tellOutcome(JsonNode decision, Outcomes outcomes) {
        JsonNode outcome = decision.path("outcome");
        if (outcome.path("cached_tokens").isIntegralNumber() && decision.path("prompt_tokens").isIntegralNumber()) {
            outcomes.cached(decision.path("prompt_tokens").longValue(), decision.path("predicted_cached_tokens")
                    .asLong(0), outcome.path("cached_tokens").longValue());
        }
        if (outcome.path("first_token_ms").isNumber() && decision.path("predicted_first_token_ms").isNumber()) {
            outcomes.firstToken(decision.path("predicted_first_token_ms").doubleValue(),
                    outcome.path("first_token_ms").doubleValue());
        }
    }

    /** Lines that were read. */
    public long requests() {
        return requests;
    }

    /** @throws IOException which says what to set, if no line had what a replay needs */
    public void refuseIfNothing(Replay replay) throws IOException {
        if (requests == 0) {
            throw lines.problemOfAll("the file has no request in it");
        } else if (replay.decisions() == 0) {
            throw lines.problemOfAll("no decision says what its policy saw: start the router with"
                    + " warmpath.decisions.replay=true");
        }
    }

    /** How much of the file was read, 0 to 1. */
    public double share() {
        return lines.share();
    }

    /** Of the file's bytes, in hex. */
    public String sha256() throws IOException {
        return lines.sha256();
    }

    @Override
    public void close() throws IOException {
        lines.close();
    }
}
