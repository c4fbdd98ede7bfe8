package dev.warmpath.planner.cost;

import dev.warmpath.planner.simulation.ServiceModel;
import dev.warmpath.planner.trace.JsonLines;
import java.io.IOException;
import java.nio.file.Path;
import org.HdrHistogram.Histogram;
import tools.jackson.databind.JsonNode;

/**
 * What a request takes beside steps, by a router's log: of each attempt, the time to its first token, less a step with
 * what it did not find cached. The median: half of the requests wait for nobody else's on a fleet that is not busy.
 */
public final class RequestOverhead {

    /** An hour, in microseconds. */
    private static final long LONGEST = 3_600_000_000L;

    private RequestOverhead() {}

    /**
     * @return in microseconds
     * @throws CostException if no attempt of the log tells its first token and what it found
     */
    public static double micros(Path log, ServiceModel service) throws IOException {
        var rests = new Histogram(LONGEST, 3);
        try (JsonLines lines = JsonLines.open(log)) {
            for (JsonNode line = lines.next(); line != null; line = lines.next()) {
                line.path("decisions").forEach(decision -> add(rests, decision, service));
            }
        }
        if (rests.getTotalCount() == 0) {
            throw new CostException(log.toString(),
                    "has no attempt that tells its first token and what it found cached");
        }
        return rests.getValueAtPercentile(50);
    }

    private static void add(Histogram rests, JsonNode decision, ServiceModel service) {
        JsonNode outcome = decision.path("outcome");
        if (outcome.path("first_token_ms").isNumber() && outcome.path("cached_tokens").isIntegralNumber()
                && decision.path("prompt_tokens").isIntegralNumber()) {
            int prompt = decision.path("prompt_tokens").asInt(0);
            int uncached = Math.max(1, prompt - outcome.path("cached_tokens").asInt(0));
            double step = service.stepMicros() + service.promptMicros(prompt, uncached);
            rests.recordValue((long) Math.clamp(outcome.path("first_token_ms").doubleValue() * 1e3 - step, 0, LONGEST));
        }
    }
}
