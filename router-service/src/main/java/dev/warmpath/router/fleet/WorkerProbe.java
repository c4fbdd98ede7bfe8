package dev.warmpath.router.fleet;

import java.net.URI;

/** Asks the network whether anybody listens at an address. Passed in, so that a simulated network can answer. */
@FunctionalInterface
public interface WorkerProbe {

    /** True only if a connection is refused now: nobody listens. A silent address is not a refusal. May block. */
    boolean isRefused(URI baseUrl);
}
