package dev.warmpath.router.answer.dialect;

import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * One call as most families write it, {@code {"name": "f", "arguments": {…}}}, read one character at a time. The
 * arguments may be called {@code parameters}, come before the name, or be JSON in a string; all may stand in an object
 * {@code function}. They are passed on as the model wrote them, as soon as the name is known.
 */
final class CallObject {

    enum Progress { GOING_ON, OVER, NO_CALL }

    private enum State { BEGINNING, KEY, IN_KEY, COLON, VALUE, NAME, ARGUMENTS, TEXT_ARGUMENTS, OTHER, NEXT }

    private static final Set<String> KEYS = Set.of("name", "arguments", "parameters", "function", "type", "id");

    private final Parts parts;
    private final Predicate<String> isTool;
    private final boolean doubtful;
    private State state = State.BEGINNING;
    private int depth;
    private String key = "";
    private JsonString string = new JsonString();
    private JsonExtent extent = new JsonExtent();
    private @Nullable String name;
    /** Arguments that came before the name. */
    private final StringBuilder early = new StringBuilder();
    /** Of arguments in a string, until it is known whether there is JSON in it. */
    private final StringBuilder text = new StringBuilder();
    private boolean isObject;
    private boolean hasArguments;

    /**
     * @param isTool   whether an object with this name is a call
     * @param doubtful no mark stands before it: with a key that calls do not have it is none
     */
    CallObject(Parts parts, Predicate<String> isTool, boolean doubtful) {
        this.parts = parts;
        this.isTool = isTool;
        this.doubtful = doubtful;
    }

    /** Something was passed on, so that this can be nothing but a call any more. */
    boolean hasBegun() {
        return name != null;
    }

    /** What comes next stands in quotes, and so is nothing but text. */
    boolean isInText() {
        return switch (state) {
            case IN_KEY, NAME, TEXT_ARGUMENTS -> true;
            case ARGUMENTS, OTHER -> extent.isInString();
            case BEGINNING, KEY, COLON, VALUE, NEXT -> false;
        };
    }

    /** @return NO_CALL only before the call has begun */
    Progress accept(char c) {
        return switch (state) {
            case BEGINNING -> c == '{' ? open() : Progress.NO_CALL;
            case KEY -> key(c);
            case IN_KEY -> {
                if (string.accept(c)) {
                    key = string.take();
                    state = State.COLON;
                }
                yield state == State.COLON && doubtful && name == null && !KEYS.contains(key)
                        ? Progress.NO_CALL : Progress.GOING_ON;
            }
            case COLON -> expect(c, ':', State.VALUE);
            case VALUE -> value(c);
            case NAME -> string.accept(c) ? named(string.take()) : Progress.GOING_ON;
            case ARGUMENTS -> arguments(c);
            case TEXT_ARGUMENTS -> {
                textArguments(string.accept(c));
                yield Progress.GOING_ON;
            }
            case OTHER -> other(c);
            case NEXT -> next(c);
        };
    }

    private Progress open() {
        depth++;
        state = State.KEY;
        return Progress.GOING_ON;
    }

    private Progress key(char c) {
        if (c == '"') {
            string = new JsonString();
            state = State.IN_KEY;
            return Progress.GOING_ON;
        }
        return c == '}' ? close() : blankOr(c, ',');
    }

    private Progress next(char c) {
        if (c == ',') {
            state = State.KEY;
            return Progress.GOING_ON;
        }
        return c == '}' ? close() : blankOr(c, ',');
    }

    private Progress value(char c) {
        if (Character.isWhitespace(c)) {
            return Progress.GOING_ON;
        }
        boolean isArguments = (key.equals("arguments") || key.equals("parameters")) && !hasArguments;
        if (key.equals("name") && c == '"' && name == null) {
            string = new JsonString();
            state = State.NAME;
            return Progress.GOING_ON;
        }
        if (key.equals("function") && c == '{') {
            return open();
        }
        if (isArguments && c == '"') {
            hasArguments = true;
            string = new JsonString();
            state = State.TEXT_ARGUMENTS;
            return Progress.GOING_ON;
        }
        extent = new JsonExtent();
        if (isArguments && c == '{') {
            hasArguments = true;
            state = State.ARGUMENTS;
            return arguments(c);
        }
        state = State.OTHER;
        return other(c);
    }

    private Progress named(String found) {
        if (found.isEmpty() || !isTool.test(found)) {
            return Progress.NO_CALL;
        }
        name = found;
        state = State.NEXT;
        parts.call(found);
        passOn(early.toString());
        return Progress.GOING_ON;
    }

    private Progress arguments(char c) {
        JsonExtent.End end = extent.accept(c);
        if (name == null) {
            early.append(c);
        } else {
            parts.argument(c);
        }
        state = end == JsonExtent.End.NOT_YET ? state : State.NEXT;
        return Progress.GOING_ON;
    }

    /** An object in a string is passed on as it comes; any other string as what it is, once it is whole. */
    private void textArguments(boolean over) {
        boolean isFirst = text.isEmpty() && !isObject;
        text.append(isFirst ? string.take().stripLeading() : string.take());
        isObject |= isFirst && text.indexOf("{") == 0;
        if (isObject) {
            passOn(text.toString());
            text.setLength(0);
        } else if (over) {
            passOn(text.isEmpty() ? "{}" : Json.quoted(text.toString()));
        }
        state = over ? State.NEXT : state;
    }

    private void passOn(String json) {
        if (name == null) {
            early.append(json);
        } else {
            parts.arguments(json);
        }
    }

    private Progress other(char c) {
        return switch (extent.accept(c)) {
            case NOT_YET -> Progress.GOING_ON;
            case WITH_THIS -> {
                state = State.NEXT;
                yield Progress.GOING_ON;
            }
            case BEFORE_THIS -> {
                state = State.NEXT;
                yield next(c);
            }
        };
    }

    private Progress close() {
        state = State.NEXT;
        if (--depth > 0) {
            return Progress.GOING_ON;
        }
        if (name == null) {
            return Progress.NO_CALL;
        }
        parts.endCall();
        return Progress.OVER;
    }

    private Progress expect(char c, char expected, State then) {
        if (c == expected) {
            state = then;
            return Progress.GOING_ON;
        }
        return blankOr(c, expected);
    }

    /** What stands where it makes no sense is no call; behind the beginning of one it is passed over. */
    private Progress blankOr(char c, char alsoNothing) {
        return c == alsoNothing || Character.isWhitespace(c) || hasBegun() ? Progress.GOING_ON : Progress.NO_CALL;
    }
}
