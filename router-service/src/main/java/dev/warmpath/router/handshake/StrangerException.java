package dev.warmpath.router.handshake;

import java.io.IOException;

/** Somebody else answers at a worker's address: another worker or life of it, or one who has not the fleet's token. */
public final class StrangerException extends IOException {

    private static final long serialVersionUID = 1L;

    StrangerException(String message) {
        super(message);
    }
}
