package dev.warmpath.process;

import java.util.Locale;

/** The two kinds of process in a fleet. */
public enum Service {
    ROUTER,
    WORKER;

    /** As people call it. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
