package dev.warmpath.protocol.fleet;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.util.random.RandomGenerator;

/**
 * One life of one router, as workers tell its requests from those of other routers. Opaque and drawn by chance: a
 * router that is started anew has another one, and what it left behind at the workers is not taken for its own.
 *
 * @param text 1 to {@value #MAX_LENGTH} letters and digits
 */
public record RouterId(@JsonValue String text) {

    public static final int MAX_LENGTH = 64;

    @JsonCreator(mode = JsonCreator.Mode.DELEGATING)
    public RouterId {
        if (text == null) {
            throw new IllegalArgumentException("a router's id is missing");
        }
        if (text.isEmpty() || text.length() > MAX_LENGTH
                || !text.chars().allMatch(c -> c < 0x80 && Character.isLetterOrDigit(c))) {
            throw new IllegalArgumentException("a router's id has " + text.length() + " characters; 1 to " + MAX_LENGTH
                    + " letters and digits are allowed");
        }
    }

    /** Another one than everybody else's. */
    public static RouterId random(RandomGenerator random) {
        return new RouterId(Handshake.newNonce(random));
    }

    @Override
    public String toString() {
        return text;
    }
}
