package dev.warmpath.router.dispatch;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.process.ForeignText;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/** Why a request got no answer, or no whole one, from the fleet. */
public sealed interface DispatchFailure {

    /** A sentence for the client; names no address. */
    String message();

    /** Whether another worker may do better, as long as nothing was answered. */
    boolean isRetryable();

    /** Whether the request asked for what no worker does: nobody has failed but its author. */
    default boolean isRequestsFault() {
        return this instanceof Refused refused && switch (refused.reason()) {
            case INVALID_REQUEST, UNSUPPORTED, RULES_LEAVE_NOTHING -> true;
            case WRONG_EPOCH, SHUTTING_DOWN, QUEUE_FULL, DEADLINE_EXCEEDED, ENGINE_FAILURE, UNUSABLE_LOGITS -> false;
        };
    }

    /** Meter tag. */
    String cause();

    /** All that {@link #cause} may say. */
    List<String> CAUSES = Stream.concat(
            Stream.of("no_worker", "router_stopping", "worker_lost", "worker_silent", "invalid_answer"),
            Arrays.stream(FailureReason.values()).map(DispatchFailure::causeOf)).toList();

    /** What a worker says is shown and logged up to here. */
    int MAX_DETAIL_CHARS = 200;

    private static String causeOf(FailureReason reason) {
        return reason.name().toLowerCase(Locale.ROOT);
    }

    /**
     * No worker was there to be asked.
     *
     * @param onlyOutdated some were, of a version that would pass over what the request asks of the logits
     */
    record NoWorker(boolean onlyOutdated) implements DispatchFailure {

        public NoWorker() {
            this(false);
        }

        @Override
        public String message() {
            return "no worker is available for this model at present" + (onlyOutdated ? " that follows what the request "
                    + "asks of the logits, as by penalties or biases: those that are there are of an earlier version" : "");
        }

        @Override
        public boolean isRetryable() {
            return false;
        }

        @Override
        public String cause() {
            return "no_worker";
        }
    }

    /** This router is told to stop. */
    record RouterStopping() implements DispatchFailure {
        @Override
        public String message() {
            return "this router is going away; another one takes this request";
        }

        @Override
        public boolean isRetryable() {
            return false;
        }

        @Override
        public String cause() {
            return "router_stopping";
        }
    }

    /** The connection broke, could not be made, or ended before the answer did. */
    record WorkerLost(String workerId, String detail) implements DispatchFailure {

        public WorkerLost {
            detail = ForeignText.oneLine(detail, MAX_DETAIL_CHARS);
        }

        @Override
        public String message() {
            return "the worker '" + workerId + "' was lost while it had this request";
        }

        @Override
        public boolean isRetryable() {
            return true;
        }

        @Override
        public String cause() {
            return "worker_lost";
        }
    }

    /** The worker is connected and said nothing in time. */
    record WorkerSilent(String workerId, Duration timeout) implements DispatchFailure {
        @Override
        public String message() {
            return "the worker '" + workerId + "' sent no token for " + timeout.toMillis() + " ms";
        }

        @Override
        public boolean isRetryable() {
            return true;
        }

        @Override
        public String cause() {
            return "worker_silent";
        }
    }

    /** The worker sent something else than the protocol, or what cannot be the answer to this request. */
    record InvalidAnswer(String workerId, String detail) implements DispatchFailure {

        public InvalidAnswer {
            detail = ForeignText.oneLine(detail, MAX_DETAIL_CHARS);
        }

        @Override
        public String message() {
            return "the worker '" + workerId + "' sent an answer that cannot be right";
        }

        @Override
        public boolean isRetryable() {
            return true;
        }

        @Override
        public String cause() {
            return "invalid_answer";
        }
    }

    /**
     * The worker said no, before or after its first token.
     *
     * @param detail its own words, for the log
     */
    record Refused(String workerId, FailureReason reason, String detail) implements DispatchFailure {

        public Refused {
            detail = ForeignText.oneLine(detail, MAX_DETAIL_CHARS);
        }

        /** Only what is about the request itself is passed on. */
        @Override
        public String message() {
            return switch (reason) {
                case INVALID_REQUEST, UNSUPPORTED, RULES_LEAVE_NOTHING -> detail;
                case WRONG_EPOCH, SHUTTING_DOWN -> "the worker '" + workerId + "' is going away";
                case QUEUE_FULL -> "the worker '" + workerId + "' has no room for this request now";
                case DEADLINE_EXCEEDED -> "the worker '" + workerId + "' had no time left for this request";
                case ENGINE_FAILURE -> "the worker '" + workerId + "' failed on this request";
                case UNUSABLE_LOGITS -> "the model computes no usable probabilities for this request; others are served,"
                        + " and another try would end the same way";
            };
        }

        @Override
        public boolean isRetryable() {
            return reason.isRetryable();
        }

        @Override
        public String cause() {
            return causeOf(reason);
        }
    }
}
