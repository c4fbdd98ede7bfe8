package dev.warmpath.cli.fleet;

import java.util.Locale;

/** What a process of the fleet is; in the order in which they are stopped. */
public enum Role {
    ROUTER, WORKER, REDIS;

    /** As the fleet file and tables have it. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
