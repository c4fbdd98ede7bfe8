package dev.warmpath.worker.foreign.generate;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.worker.engine.RefusedException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.LongSupplier;

/**
 * Turns a request into what the engine is asked, or refuses it. On the submitter's thread.
 *
 * @param epoch          this life of engine and worker; a request for another one is refused
 * @param contextLength  most tokens of prompt and answer; 0 = not known, the engine says
 * @param vocabularySize token ids are below it; 0 = not known, likewise
 */
record ForeignIntake(LongSupplier epoch, int contextLength, int vocabularySize, Dialect dialect) {

    private static final int SHOWN_ID_CHARS = 64;

    /** @throws RefusedException naming the field and the value */
    List<Ask> accept(GenerateRequest request, int choices) {
        long life = epoch.getAsLong();
        if (request.workerEpoch() != 0 && request.workerEpoch() != life) {
            throw new RefusedException(FailureReason.WRONG_EPOCH,
                    "the request is for epoch " + request.workerEpoch() + ", this worker lives in " + life);
        }
        if (request.adapter() != null) {
            throw Dialect.unsupported("adapter '" + request.adapter() + "'", "not yet");
        }
        checkIds(request);
        int maxTokens = checkLength(request);
        List<Ask> asks = new ArrayList<>(choices);
        for (int choice = 0; choice < choices; choice++) {
            var ask = new Ask(request, idOf(request), request.sampling().seed() + choice, maxTokens,
                    request.promptLogprobs() && choice == 0 && request.promptTokens().length > 1);
            dialect.requireServed(ask);
            asks.add(ask);
        }
        return asks;
    }

    private int checkLength(GenerateRequest request) {
        int promptLength = dialect.promptTokens(request);
        if (contextLength == 0) {
            return request.stop().maxTokens();
        }
        if (promptLength >= contextLength) {
            throw invalid("prompt has " + promptLength + " tokens, the model's context of " + contextLength + " takes "
                    + (contextLength - 1) + " beside one generated token");
        }
        return Math.min(request.stop().maxTokens(), contextLength - promptLength);
    }

    private void checkIds(GenerateRequest request) {
        LogitRules rules = request.sampling().rules();
        checkIds(request.promptTokens(), "promptTokens");
        checkIds(request.stop().stopTokenIds(), "stopTokenIds");
        checkIds(rules.biasedTokens(), "biasedTokens");
        checkIds(rules.allowedTokens(), "allowedTokens");
    }

    private void checkIds(int[] ids, String field) {
        for (int id : ids) {
            if (id < 0 || vocabularySize > 0 && id >= vocabularySize) {
                throw invalid("token id " + id + " of " + field + " is "
                        + (id < 0 ? "negative" : "outside the vocabulary of " + vocabularySize));
            }
        }
    }

    private static RefusedException invalid(String message) {
        return new RefusedException(FailureReason.INVALID_REQUEST, message);
    }

    /** The client's, as far as a header and a log take it, and made nobody else's. */
    private static String idOf(GenerateRequest request) {
        String shown = request.requestId().replaceAll("[^A-Za-z0-9._-]", "");
        return shown.substring(0, Math.min(SHOWN_ID_CHARS, shown.length())) + "-"
                + UUID.randomUUID().toString().replace("-", "");
    }
}
