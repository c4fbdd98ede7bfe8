package dev.warmpath.worker.engine;

import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.worker.kvcache.TokenSequence;
import dev.warmpath.worker.scheduler.RequestLimits;
import dev.warmpath.worker.scheduler.Sequence;
import dev.warmpath.worker.scheduler.Submission;
import java.util.concurrent.TimeUnit;

/**
 * Turns a request into a sequence, or refuses it. Runs on the submitter's thread and hashes the prompt there, so that a
 * long prompt costs the engine's thread nothing.
 *
 * @param epoch        this life of the worker; a request for another one is refused
 * @param hashSettings how prompts are hashed
 * @param limits       what can be computed at all
 * @param eosTokenIds  the model's end-of-sequence tokens; never written
 */
public record RequestIntake(long epoch, HashSettings hashSettings, RequestLimits limits, int[] eosTokenIds) {

    /** @throws RefusedException naming the field and the value */
    Sequence accept(GenerateRequest request, long nowNanos) {
        if (request.workerEpoch() != 0 && request.workerEpoch() != epoch) {
            throw new RefusedException(FailureReason.WRONG_EPOCH,
                    "the request is for epoch " + request.workerEpoch() + ", this worker lives in " + epoch);
        }
        refuse(request.adapter() != null, "adapter", request.adapter());
        refuse(request.priority() != 0, "priority", request.priority());
        var tokens = new TokenSequence(hashSettings, ExtraKeys.ofSalt(request.salt()), request.promptTokens());
        var sequence = new Sequence(request.requestId(), tokens, request.sampling(), request.stop(), eosTokenIds,
                request.logprobs(), deadline(request, nowNanos));
        if (limits.check(sequence) instanceof Submission.Refused(FailureReason reason, String message)) {
            throw new RefusedException(reason, message);
        }
        tokens.hash();
        return sequence;
    }

    private static void refuse(boolean asked, String field, Object value) {
        if (asked) {
            throw new RefusedException(FailureReason.UNSUPPORTED, field + " '" + value + "' is not served yet");
        }
    }

    private static long deadline(GenerateRequest request, long nowNanos) {
        return request.timeoutMillis() == 0
                ? Sequence.NO_DEADLINE
                : nowNanos + TimeUnit.MILLISECONDS.toNanos(request.timeoutMillis());
    }
}
