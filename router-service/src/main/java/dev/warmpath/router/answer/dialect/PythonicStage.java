package dev.warmpath.router.answer.dialect;

import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * An answer that is a Python list of calls with named arguments: {@code [f(city="Paris", days=3), g()]}. It is one from
 * the first name on that is a tool of the request; each argument is passed on as JSON once it is whole.
 */
final class PythonicStage implements Stage {

    private static final int MAX_NAME_CHARS = 256;

    private enum State { BEGINNING, NAME, KEY, VALUE, BEHIND_CALL, BEHIND_LIST, TEXT }

    private final Parts parts;
    private final Predicate<String> isTool;
    private final Marks opening;
    private final Marks closing;
    private final StringBuilder waiting = new StringBuilder();
    private final StringBuilder doubtful = new StringBuilder();
    private State state = State.BEGINNING;
    private boolean begun;
    private final StringBuilder word = new StringBuilder();
    private String key = "";
    private int arguments;
    // of a value
    private int depth;
    private char quote;
    private boolean escaped;

    /**
     * @param opening may stand before the list
     * @param closing may stand behind it
     */
    PythonicStage(List<String> opening, List<String> closing, Parts parts, Predicate<String> isTool) {
        this.opening = new Marks(opening);
        this.closing = new Marks(closing);
        this.parts = parts;
        this.isTool = isTool;
    }

    @Override
    public void accept(String text) {
        waiting.append(text);
        read();
    }

    private void read() {
        while (!waiting.isEmpty()) {
            if (state == State.TEXT) {
                parts.text(waiting);
                waiting.setLength(0);
                return;
            }
            boolean isInside = state == State.NAME || state == State.KEY || state == State.VALUE;
            int taken = isInside ? readInside() : readOutside();
            if (taken == 0) {
                return;
            }
        }
    }

    /** @return how much of what waits was looked at; 0 if that needs more */
    private int readOutside() {
        Marks marks = state == State.BEGINNING ? opening : closing;
        @Nullable String mark = marks.at(waiting, 0);
        if (mark != null) {
            return take(mark.length());
        }
        char c = waiting.charAt(0);
        if (Character.isWhitespace(c) || c == ']' && state == State.BEHIND_CALL) {
            state = c == ']' ? State.BEHIND_LIST : state;
            return take(1);
        }
        boolean opensCall = state == State.BEGINNING && c == '[' || state == State.BEHIND_CALL && c == ',';
        if (opensCall) {
            state = State.NAME;
            word.setLength(0);
            return take(1);
        }
        if (marks.mayBegin(waiting, 0)) {
            return 0;
        }
        giveUp();
        return 1;
    }

    private int take(int count) {
        if (!begun) {
            doubtful.append(waiting, 0, count);
        }
        waiting.delete(0, count);
        return count;
    }

    private int readInside() {
        int at = 0;
        while (at < waiting.length() && (state == State.NAME || state == State.KEY || state == State.VALUE)) {
            char c = waiting.charAt(at++);
            switch (state) {
                case NAME -> name(c);
                case KEY -> key(c);
                default -> value(c);
            }
        }
        if (state == State.TEXT) {
            doubtful.append(waiting, 0, at);
            waiting.delete(0, at);
            giveUp();
            return at;
        }
        return take(at);
    }

    private void name(char c) {
        if (c == '(') {
            String name = word.toString().strip();
            word.setLength(0);
            if (!begun && !isTool.test(name)) {
                state = State.TEXT;
                return;
            }
            begun = true;
            doubtful.setLength(0);
            parts.call(name);
            arguments = 0;
            state = State.KEY;
        } else if (Character.isLetterOrDigit(c) || c == '_' || c == '.' || c == '-' || Character.isWhitespace(c)) {
            word.append(c);
            state = word.length() <= MAX_NAME_CHARS ? state : noName();
        } else {
            state = noName();
        }
    }

    private State noName() {
        return begun ? State.BEHIND_CALL : State.TEXT;
    }

    private void key(char c) {
        switch (c) {
            case '=' -> {
                key = word.toString().strip();
                word.setLength(0);
                depth = 0;
                state = State.VALUE;
            }
            case ')' -> closeCall();
            case ',' -> word.setLength(0);
            default -> word.append(c);
        }
    }

    private void value(char c) {
        if (quote != 0) {
            word.append(c);
            if (escaped) {
                escaped = false;
            } else if (c == '\\') {
                escaped = true;
            } else if (c == quote) {
                quote = 0;
            }
            return;
        }
        if (depth == 0 && (c == ',' || c == ')')) {
            argument();
            state = State.KEY;
            if (c == ')') {
                closeCall();
            }
            return;
        }
        word.append(c);
        switch (c) {
            case '"', '\'' -> quote = c;
            case '[', '(', '{' -> depth++;
            case ']', ')', '}' -> depth--;
            default -> { }
        }
    }

    /** What is no literal is passed on as a string, for the client to judge. */
    private void argument() {
        @Nullable String json = PythonLiteral.toJson(word.toString());
        parts.arguments((arguments++ == 0 ? "{" : ", ") + Json.quoted(key) + ": "
                + (json != null ? json : Json.quoted(word.toString().strip())));
        word.setLength(0);
    }

    private void closeCall() {
        parts.arguments(arguments == 0 ? "{}" : "}");
        word.setLength(0);
        state = State.BEHIND_CALL;
    }

    private void giveUp() {
        parts.text(doubtful);
        doubtful.setLength(0);
        state = State.TEXT;
    }

    @Override
    public void finish() {
        if (!begun) {
            parts.text(doubtful);
            parts.text(waiting);
        }
        waiting.setLength(0);
    }
}
