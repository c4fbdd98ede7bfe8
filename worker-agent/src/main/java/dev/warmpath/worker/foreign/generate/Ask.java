package dev.warmpath.worker.foreign.generate;

import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;

/**
 * One answer that the engine is asked for.
 *
 * @param request      checked; of its seed and its limit the next two stand in place
 * @param id           what the engine calls it; nobody else's
 * @param seed         this answer's
 * @param maxTokens    what the model's context leaves, at most what the request allows
 * @param promptScores true: it tells what the prompt's tokens were to the model
 */
record Ask(GenerateRequest request, String id, long seed, int maxTokens, boolean promptScores) {

    SamplingParameters sampling() {
        return request.sampling();
    }

    int promptLength() {
        return request.promptTokens().length;
    }
}
