package dev.warmpath.protocol.event;

/** Bytes that are no event batch of this protocol version. The reader drops its copy of the set and starts anew. */
public final class EventFormatException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    public EventFormatException(String message) {
        super(message);
    }
}
