package dev.warmpath.protocol.pool;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.warmpath.protocol.event.EventFormatException;

/** Where a sequence stands. The code is what goes over the wire. */
public enum RequestState {
    /** It holds no blocks: it is new, or had to give them up and computes again. */
    @JsonProperty("waiting")
    WAITING(0),
    @JsonProperty("running")
    RUNNING(1),
    /** It waits, and what it had computed lies in swap space. */
    @JsonProperty("swapped")
    SWAPPED(2);

    private final int code;

    RequestState(int code) {
        this.code = code;
    }

    int code() {
        return code;
    }

    static RequestState ofCode(int code) {
        return switch (code) {
            case 0 -> WAITING;
            case 1 -> RUNNING;
            case 2 -> SWAPPED;
            default -> throw new EventFormatException("a request in state " + code + " is not known");
        };
    }
}
