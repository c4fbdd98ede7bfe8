package dev.warmpath.router.answer.dialect;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** What stages have found since it was taken last, in order; neighbours of one kind are joined. */
final class Parts implements Stage {

    private enum Kind { TEXT, REASONING, ARGUMENTS }

    private final Supplier<String> callIds;
    private final int maxCalls;
    private final StringBuilder open = new StringBuilder();
    private boolean hasArguments;
    private Kind kind = Kind.TEXT;
    private List<AnswerPart> parts = new ArrayList<>();
    private int calls;

    /**
     * @param callIds  a new one for each call
     * @param maxCalls calls beyond are left out
     */
    Parts(Supplier<String> callIds, int maxCalls) {
        this.callIds = callIds;
        this.maxCalls = maxCalls;
    }

    /** As the last stage: all of it is text. */
    @Override
    public void accept(String text) {
        add(Kind.TEXT, text);
    }

    @Override
    public void finish() { }

    void reasoning(CharSequence text) {
        add(Kind.REASONING, text);
    }

    void text(CharSequence text) {
        add(Kind.TEXT, text);
    }

    void call(String name) {
        close();
        calls++;
        hasArguments = false;
        if (calls <= maxCalls) {
            parts.add(new AnswerPart.Call(calls - 1, callIds.get(), name));
        }
    }

    /** Of the call that began last. */
    void arguments(CharSequence json) {
        if (calls <= maxCalls) {
            add(Kind.ARGUMENTS, json);
        }
    }

    /** A whole call without arguments has none: an object, as clients read it. */
    void endCall() {
        if (!hasArguments) {
            arguments("{}");
        }
    }

    void argument(char json) {
        if (calls <= maxCalls) {
            open(Kind.ARGUMENTS);
            open.append(json);
            hasArguments = true;
        }
    }

    private void add(Kind next, CharSequence text) {
        open(next);
        open.append(text);
        hasArguments |= next == Kind.ARGUMENTS && !text.isEmpty();
    }

    private void open(Kind next) {
        if (next != kind) {
            close();
            kind = next;
        }
    }

    private void close() {
        if (!open.isEmpty()) {
            String text = open.toString();
            open.setLength(0);
            parts.add(switch (kind) {
                case TEXT -> new AnswerPart.Text(text);
                case REASONING -> new AnswerPart.Reasoning(text);
                case ARGUMENTS -> new AnswerPart.Arguments(calls - 1, text);
            });
        }
    }

    List<AnswerPart> take() {
        close();
        if (parts.isEmpty()) {
            return List.of();
        }
        List<AnswerPart> taken = parts;
        parts = new ArrayList<>();
        return taken;
    }
}
