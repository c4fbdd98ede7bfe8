package dev.warmpath.router.answer.dialect;

import java.util.function.Consumer;

/** A stretch of an answer whose last characters of some kind are left out, and so wait for what comes behind them. */
final class HeldTail {

    static final String WHITE = " \n\r\t";

    private final String held;
    private final StringBuilder waiting = new StringBuilder();
    private final Consumer<CharSequence> passOn;

    /** @param held characters that are left out at the end */
    HeldTail(String held, Consumer<CharSequence> passOn) {
        this.held = held;
        this.passOn = passOn;
    }

    void accept(CharSequence text) {
        int end = text.length();
        while (end > 0 && held.indexOf(text.charAt(end - 1)) >= 0) {
            end--;
        }
        if (end > 0) {
            waiting.append(text, 0, end);
            passOn.accept(waiting);
            waiting.setLength(0);
        }
        waiting.append(text, end, text.length());
    }

    /** Nothing comes behind: what waits is left out. */
    void end() {
        waiting.setLength(0);
    }

    /** What waits, which is not left out after all. */
    String rest() {
        String rest = waiting.toString();
        waiting.setLength(0);
        return rest;
    }
}
