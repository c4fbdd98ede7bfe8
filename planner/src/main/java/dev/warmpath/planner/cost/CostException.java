package dev.warmpath.planner.cost;

import java.io.IOException;

/** A file, or what a worker answered, is no cost model; the message names it and says what is wrong. */
public final class CostException extends IOException {

    private static final long serialVersionUID = 1;

    CostException(String source, String problem) {
        super(source + ": " + problem);
    }
}
