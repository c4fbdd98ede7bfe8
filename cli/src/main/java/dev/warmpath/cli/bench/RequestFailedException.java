package dev.warmpath.cli.bench;

/** A request that was not answered, and why: a word that reports count by, and what the server or the network said. */
final class RequestFailedException extends Exception {

    private static final long serialVersionUID = 1;

    /** Nobody listens there. */
    static final String REFUSED = "refused";
    static final String TIMED_OUT = "timed_out";
    /** The answer ended before its end. */
    static final String BROKEN = "broken_stream";
    /** The server said so after it had begun to answer. */
    static final String ERROR_EVENT = "error_event";
    static final String UNREADABLE = "unreadable";
    /** More were under way than may be: the server is far behind the rate. */
    static final String NOT_SENT = "not_sent";

    private final String kind;

    RequestFailedException(String kind, String message) {
        super(message);
        this.kind = kind;
    }

    /** @param status from 300 on, or one that is no answer */
    static RequestFailedException http(int status, String message) {
        return new RequestFailedException("http_" + status, message);
    }

    String kind() {
        return kind;
    }
}
