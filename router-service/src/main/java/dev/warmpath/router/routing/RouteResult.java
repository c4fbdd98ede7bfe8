package dev.warmpath.router.routing;

import dev.warmpath.router.fleet.FleetWorker;

/** What became of placing a request. */
public sealed interface RouteResult {

    RouteDecision decision();

    /** The request is booked at the worker until {@code inFlight} is closed. */
    record Placed(TokenizedPrompt prompt, RouteDecision.Routed decision, FleetWorker worker, InFlightRequest inFlight)
            implements RouteResult {}

    /** Nobody could be chosen; nothing is booked. */
    record Unplaced(RouteDecision.NoWorker decision) implements RouteResult {

        /** Somebody is there who would pass over what the request asks. */
        public boolean hasOutdated() {
            return decision.leftOut().workers().stream()
                    .anyMatch(worker -> worker.reason() == LeftOut.Reason.OUTDATED);
        }
    }
}
