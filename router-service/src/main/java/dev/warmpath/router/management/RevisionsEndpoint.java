package dev.warmpath.router.management;

import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.RevisionView;
import java.util.List;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.stereotype.Component;

/** {@code /actuator/revisions}: how new requests are shared. Changed by {@link OperatorRoutes}. */
@Component
@Endpoint(id = "revisions")
public class RevisionsEndpoint {

    private final Fleet fleet;

    RevisionsEndpoint(Fleet fleet) {
        this.fleet = fleet;
    }

    /** The endpoint's answer. */
    public record Revisions(List<RevisionView> revisions) {}

    @ReadOperation
    public Revisions revisions() {
        return new Revisions(fleet.revisionViews());
    }
}
