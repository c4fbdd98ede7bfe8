package dev.warmpath.router.answer.dialect;

import java.util.List;

/**
 * Reasoning between two marks at the beginning of an answer, as {@code <think>…</think>}. Line breaks around it are not
 * part of it or of the answer: templates write them again when the reasoning is sent back, so that the prompt of the
 * next turn is what was generated.
 */
final class ReasoningStage implements Stage {

    private enum State { BEFORE, INSIDE, BEHIND, OVER }

    /** What begins with more white space does not begin with reasoning. */
    private static final int MAX_BLANKS = 256;

    private final Marks opening;
    private final Marks closing;
    private final Parts parts;
    private final Stage next;
    private final HeldTail inside = new HeldTail("\n", this::show);
    private final StringBuilder waiting = new StringBuilder();
    private State state;
    private boolean shown;

    /** @param begun the prompt ends with the opening mark */
    ReasoningStage(List<String> opening, List<String> closing, boolean begun, Parts parts, Stage next) {
        this.opening = new Marks(opening);
        this.closing = new Marks(closing);
        this.state = begun ? State.INSIDE : State.BEFORE;
        this.parts = parts;
        this.next = next;
    }

    @Override
    public void accept(String text) {
        if (state == State.OVER) {
            next.accept(text);
            return;
        }
        waiting.append(text);
        read();
    }

    private void read() {
        if (state == State.BEFORE) {
            readBefore();
        }
        if (state == State.INSIDE) {
            readInside();
        }
        if (state == State.BEHIND) {
            readBehind();
        }
    }

    private void readBefore() {
        int at = Stage.blanks(waiting);
        String mark = at > MAX_BLANKS ? null : opening.at(waiting, at);
        if (mark != null) {
            waiting.delete(0, at + mark.length());
            state = State.INSIDE;
        } else if (at > MAX_BLANKS || !opening.mayBegin(waiting, at)) {
            passOn();
        }
    }

    private void readInside() {
        int end = closing.beginning(waiting);
        String mark = closing.at(waiting, end);
        inside.accept(waiting.substring(0, end));
        waiting.delete(0, mark == null ? end : end + mark.length());
        state = mark == null ? state : State.BEHIND;
    }

    private void show(CharSequence text) {
        int from = 0;
        while (!shown && text.charAt(from) == '\n') {              // not all of it: a tail of them would be held
            from++;
        }
        shown = true;
        parts.reasoning(text.subSequence(from, text.length()));
    }

    private void readBehind() {
        int at = 0;
        while (at < waiting.length() && waiting.charAt(at) == '\n') {
            at++;
        }
        waiting.delete(0, at);
        if (!waiting.isEmpty()) {
            passOn();
        }
    }

    private void passOn() {
        state = State.OVER;
        String text = waiting.toString();
        waiting.setLength(0);
        next.accept(text);
    }

    @Override
    public void finish() {
        if (state == State.INSIDE) {
            inside.accept(waiting.toString());                     // it only looked like the beginning of a closing mark
        } else if (!waiting.isEmpty()) {
            passOn();
        }
        waiting.setLength(0);
        next.finish();
    }
}
