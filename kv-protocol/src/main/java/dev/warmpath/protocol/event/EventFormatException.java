package dev.warmpath.protocol.event;

/** Bytes that are no frame of this protocol version. The reader drops the copy that it has made and starts anew. */
public final class EventFormatException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    public EventFormatException(String message) {
        super(message);
    }
}
