package dev.warmpath.planner.trace;

import java.io.IOException;

/** A line of a file is not what a trace's line should be; the message names file and line, and says what is wrong. */
public final class TraceException extends IOException {

    private static final long serialVersionUID = 1;

    private final long line;

    TraceException(String file, long line, String problem) {
        super(file + ", line " + line + ": " + problem);
        this.line = line;
    }

    /** From 1; 0 if it is about the file as a whole. */
    public long line() {
        return line;
    }
}
