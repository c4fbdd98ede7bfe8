package dev.warmpath.worker;

import dev.warmpath.worker.generate.OpenStreams;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.stereotype.Component;

/**
 * {@code /actuator/drain}: an operator ends new work here, as SIGTERM does, without the end of the process. When no
 * request is open any more, it can be stopped and nobody waits.
 */
@Component
@Endpoint(id = "drain")
public class DrainEndpoint {

    private static final Logger log = LoggerFactory.getLogger(DrainEndpoint.class);

    private final WorkerDrain drain;
    private final OpenStreams streams;

    DrainEndpoint(WorkerDrain drain, OpenStreams streams) {
        this.drain = drain;
        this.streams = streams;
    }

    /** @param openRequests running, queued, or not written to the end */
    public record State(boolean draining, int openRequests) {}

    @ReadOperation
    public State state() {
        return new State(drain.hasBegun(), streams.open());
    }

    /** May be repeated. */
    @WriteOperation
    public State drain() {
        log.info("an operator: drain");
        drain.begin();
        return state();
    }
}
