package dev.warmpath.worker.engine;

import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.worker.kvcache.TokenSequence;
import dev.warmpath.worker.scheduler.Logprobs;
import dev.warmpath.worker.scheduler.RequestLimits;
import dev.warmpath.worker.scheduler.SchedulingPolicy;
import dev.warmpath.worker.scheduler.Sequence;
import dev.warmpath.worker.scheduler.Submission;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Turns a request into a sequence, or refuses it. Runs on the submitter's thread and hashes the prompt there, so that a
 * long prompt costs the engine's thread nothing.
 *
 * @param epoch        this life of the worker; a request for another one is refused
 * @param hashSettings how prompts are hashed
 * @param limits       what can be computed at all
 * @param eosTokenIds  the model's end-of-sequence tokens; never written
 * @param policy       the scheduler's; a priority is refused where it would not count
 */
public record RequestIntake(long epoch, HashSettings hashSettings, RequestLimits limits, int[] eosTokenIds,
        SchedulingPolicy policy) {

    /**
     * @param choices how many answers are wanted, at least 1
     * @return one sequence for each, the first leading the others
     * @throws RefusedException naming the field and the value
     */
    List<Sequence> accept(GenerateRequest request, int choices, long nowNanos) {
        Sequence leader = accept(request, nowNanos);
        List<Sequence> sequences = new ArrayList<>();
        sequences.add(leader);
        for (int i = 1; i < choices; i++) {
            sequences.add(leader.follower(request.sampling().withSeed(request.sampling().seed() + i)));
        }
        sequences.forEach(Sequence::readRules);
        return sequences;
    }

    private Sequence accept(GenerateRequest request, long nowNanos) {
        if (request.workerEpoch() != 0 && request.workerEpoch() != epoch) {
            throw new RefusedException(FailureReason.WRONG_EPOCH,
                    "the request is for epoch " + request.workerEpoch() + ", this worker lives in " + epoch);
        }
        refuse(request.adapter() != null, "adapter", request.adapter());
        if (request.priority() != 0 && policy != SchedulingPolicy.PRIORITY) {
            throw new RefusedException(FailureReason.UNSUPPORTED, "priority '" + request.priority()
                    + "' is not served: this worker serves requests in order of arrival");
        }
        var tokens = new TokenSequence(hashSettings, ExtraKeys.ofSalt(request.salt()), request.promptTokens());
        var sequence = new Sequence(request.requestId(), tokens, request.sampling(), request.stop(), eosTokenIds,
                logprobs(request), request.priority(), deadline(request, nowNanos), request.router());
        if (limits.check(sequence) instanceof Submission.Refused(FailureReason reason, String message)) {
            throw new RefusedException(reason, message);
        }
        tokens.hash();
        return sequence;
    }

    /** A vocabulary has no more alternatives than tokens. */
    private Logprobs logprobs(GenerateRequest request) {
        return new Logprobs(request.logprobs(), request.promptLogprobs(),
                Math.min(request.alternatives(), limits.vocabularySize()));
    }

    private static void refuse(boolean asked, String field, Object value) {
        if (asked) {
            throw new RefusedException(FailureReason.UNSUPPORTED, field + " '" + value + "' is not served yet");
        }
    }

    /** Half of the clock's range ahead counts as later, the other half as past. */
    private static long deadline(GenerateRequest request, long nowNanos) {
        return request.timeoutMillis() == 0
                ? Sequence.NO_DEADLINE
                : nowNanos + Math.min(TimeUnit.MILLISECONDS.toNanos(request.timeoutMillis()), Long.MAX_VALUE / 2);
    }
}
