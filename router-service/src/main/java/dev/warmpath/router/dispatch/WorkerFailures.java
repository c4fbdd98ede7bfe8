package dev.warmpath.router.dispatch;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.router.dispatch.DispatchFailure.Refused;
import dev.warmpath.router.dispatch.DispatchFailure.WorkerLost;
import dev.warmpath.router.fleet.FleetWorker;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import reactor.core.Exceptions;
import reactor.netty.channel.AbortedException;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Says what a broken connection, or an answer other than 200, means. */
final class WorkerFailures {

    private final JsonMapper json;

    WorkerFailures(JsonMapper json) {
        this.json = json;
    }

    /** The worker's problem body as an error; of a stranger's answer, the status alone counts. */
    DispatchException refusal(FleetWorker worker, int status, byte[] body) {
        return new DispatchException(readRefusal(worker, status, body));
    }

    private Refused readRefusal(FleetWorker worker, int status, byte[] body) {
        try {
            JsonNode problem = json.readTree(body);
            @Nullable FailureReason reason = json.treeToValue(problem.required("reason"), FailureReason.class);
            if (reason != null) {
                return new Refused(worker.id(), reason, problem.path("detail").asString(reason.toString()));
            }
        } catch (JacksonException e) {
            // as if it had said nothing
        }
        return new Refused(worker.id(), FailureReason.ENGINE_FAILURE, "answered with status " + status);
    }

    /**
     * @param reached false: there was no connection to the worker yet
     * @return {@link WorkerLost} with the broken connection as its cause, if that is what it was
     */
    DispatchException of(FleetWorker worker, Throwable error, boolean reached) {
        Throwable cause = Exceptions.unwrap(error);
        for (Throwable e = cause; e != null; e = e.getCause()) {
            if (e instanceof IOException || e instanceof AbortedException) {
                return new DispatchException(new WorkerLost(worker.id(), e.toString()), e);
            }
        }
        return reached
                ? new DispatchException(new WorkerLost(worker.id(), cause.toString()))
                // no network in it, so it is the connection pool that said no
                : new DispatchException(new Refused(worker.id(), FailureReason.QUEUE_FULL,
                        "all connections to it are taken"), cause);
    }
}
