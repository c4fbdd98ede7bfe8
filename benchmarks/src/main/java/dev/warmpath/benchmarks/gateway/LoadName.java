package dev.warmpath.benchmarks.gateway;

/** What can be chosen to be measured. */
enum LoadName {
    /** Short requests, and what a streamed token costs. */
    SHORT,
    MID,
    LONG,
    /** Later turns of long chats. */
    TURNS,
    /** As many requests as there may be, and the first token at 30 % of it. */
    MOST,
    /** How evenly streams go on beside mid prompts. */
    GAPS,
    /** 3,000 at a time. */
    STREAMS;

    /** Whether the workers must give tokens at a pace that is set here. */
    boolean needsPace() {
        return switch (this) {
            case SHORT, MID, LONG, TURNS -> false;
            case MOST, GAPS, STREAMS -> true;
        };
    }
}
