package dev.warmpath.router.admission;

/** This router has no room for the request now; the same request may be taken a second later. */
public final class OverloadedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public OverloadedException(String message) {
        // no stack trace: it is thrown most often when there is least time
        super(message, null, false, false);
    }
}
