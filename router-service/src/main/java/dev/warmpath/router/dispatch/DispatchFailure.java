package dev.warmpath.router.dispatch;

import dev.warmpath.protocol.generate.FailureReason;
import java.time.Duration;
import java.util.Locale;

/** Why a request got no answer, or no whole one, from the fleet. */
public sealed interface DispatchFailure {

    /** A sentence for the client; names no address. */
    String message();

    /** Whether another worker may do better, as long as nothing was answered. */
    boolean isRetryable();

    /** Meter tag. */
    String cause();

    /** No worker was there to be asked. */
    record NoWorker() implements DispatchFailure {
        @Override
        public String message() {
            return "no worker is available for this model at present";
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

    /** The connection broke, could not be made, or carried something else than the protocol. */
    record WorkerLost(String workerId, String detail) implements DispatchFailure {
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

        /** It may be busy with just this prompt: a second worker would compute it for nothing. */
        @Override
        public boolean isRetryable() {
            return false;
        }

        @Override
        public String cause() {
            return "worker_silent";
        }
    }

    /** The worker said no, before or after its first token. */
    record Refused(String workerId, FailureReason reason, String detail) implements DispatchFailure {
        @Override
        public String message() {
            return detail;
        }

        @Override
        public boolean isRetryable() {
            return reason.isRetryable();
        }

        @Override
        public String cause() {
            return reason.name().toLowerCase(Locale.ROOT);
        }
    }
}
