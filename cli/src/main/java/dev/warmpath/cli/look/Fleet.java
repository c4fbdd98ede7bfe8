package dev.warmpath.cli.look;

import java.util.List;

/**
 * The routers of a fleet, at least one, in the order in which they are asked.
 *
 * @param secrets those that its ports are shown
 */
record Fleet(List<Router> routers, Secrets secrets) {

    /** One router's two ports. */
    record Router(HttpServer api, HttpServer management) {}

    Router first() {
        return routers.getFirst();
    }
}
