package dev.warmpath.router.management;

import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.WorkerView;
import java.util.List;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.stereotype.Component;

/** {@code /actuator/workers}: who is in the fleet. Exposed by {@code management.endpoints.web.exposure.include}. */
@Component
@Endpoint(id = "workers")
public class WorkersEndpoint {

    private final Fleet fleet;

    WorkersEndpoint(Fleet fleet) {
        this.fleet = fleet;
    }

    /** The endpoint's answer. */
    public record Workers(List<WorkerView> workers) {}

    @ReadOperation
    public Workers workers() {
        return new Workers(fleet.snapshot());
    }
}
