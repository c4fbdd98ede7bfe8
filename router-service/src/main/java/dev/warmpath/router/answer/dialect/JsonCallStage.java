package dev.warmpath.router.answer.dialect;

import dev.warmpath.router.answer.dialect.CallObject.Progress;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Calls as JSON objects behind a mark: one object, or several with a comma, a semicolon or nothing between them, or a
 * list. Between text and a call, and between calls, white space says nothing.
 */
final class JsonCallStage implements Stage {

    /** Names are short; what goes on for longer is a text. */
    private static final int MAX_NAME_CHARS = 256;

    /**
     * How a family writes calls.
     *
     * @param opening what stands before them
     * @param closing what may stand behind them
     * @param bare    an object that names one of the request's tools needs no mark
     * @param named   a call may also be {@code name[ARGS]{…}} or {@code name{…}}
     */
    record Style(List<String> opening, List<String> closing, boolean bare, boolean named) {}

    private enum State { TEXT, CALLS, OBJECT, NAME, ARGUMENTS }

    private static final String ID = "[CALL_ID]";
    private static final String ARGS = "[ARGS]";
    private static final String OBJECT = "{";

    private final Style style;
    private final Marks opening;
    /** What may end a text: a mark, or an object that needs none. */
    private final Marks beginning;
    private final Marks closing;
    private final Parts parts;
    private final Predicate<String> isTool;
    private final HeldTail text;
    private final StringBuilder waiting = new StringBuilder();
    /** What becomes text if it turns out not to be a call. */
    private final StringBuilder doubtful = new StringBuilder();
    private State state = State.TEXT;
    private boolean marked;
    private boolean behindCall;
    private CallObject object;
    private JsonExtent extent = new JsonExtent();

    JsonCallStage(Style style, Parts parts, Predicate<String> isTool) {
        this.style = style;
        this.opening = new Marks(style.opening());
        this.beginning = new Marks(style.bare()
                ? Stream.concat(style.opening().stream(), Stream.of(OBJECT)).toList() : style.opening());
        this.closing = new Marks(style.closing());
        this.parts = parts;
        this.text = new HeldTail(HeldTail.WHITE, parts::text);
        this.isTool = isTool;
        this.object = newObject();
    }

    private CallObject newObject() {
        return new CallObject(parts, name -> marked || isTool.test(name), !marked);
    }

    @Override
    public void accept(String text) {
        waiting.append(text);
        read(/* over */ false);
    }

    @Override
    public void finish() {
        read(/* over */ true);
        parts.text(text.rest());
        boolean isCall = state == State.ARGUMENTS || state == State.OBJECT && object.hasBegun();
        if (!isCall) {
            giveUp();
            parts.text(waiting);
        }
        waiting.setLength(0);
    }

    private void read(boolean over) {
        boolean goesOn = true;
        while (goesOn && !waiting.isEmpty()) {
            goesOn = switch (state) {
                case TEXT -> readText();
                case CALLS -> readCalls(over);
                case OBJECT -> readObject();
                case NAME -> readName();
                case ARGUMENTS -> readArguments();
            };
        }
    }

    /** Up to what may be a mark, and to the white space before it. */
    private boolean readText() {
        int mark = beginning.beginning(waiting);
        @Nullable String found = beginning.at(waiting, mark);
        text.accept(waiting.subSequence(0, mark));
        waiting.delete(0, mark);
        if (found == null) {
            return false;
        }
        doubtful.append(text.rest());
        behindCall = false;
        marked = !found.equals(OBJECT);
        doubt(marked ? found.length() : 0);
        state = State.CALLS;
        return true;
    }

    /** Before a call, or behind one. */
    private boolean readCalls(boolean over) {
        pass(separators());
        if (waiting.isEmpty()) {
            return false;
        }
        @Nullable String open = opening.at(waiting, 0);
        @Nullable String close = closing.at(waiting, 0);
        char c = waiting.charAt(0);
        if (open != null) {
            behindCall = false;
            pass(open.length());
        } else if (close != null && behindCall) {
            pass(close.length());
            marked = false;
        } else if (c == '{') {
            object = newObject();
            state = State.OBJECT;
        } else if (close == null && mayBeMark(0)) {
            if (over && behindCall) {
                waiting.setLength(0);                              // of a mark that was cut off
            } else if (over) {
                giveUp();
            }
            return over;
        } else if (style.named() && !behindCall && (Character.isLetter(c) || c == '_')) {
            state = State.NAME;
        } else {
            giveUp();
        }
        return true;
    }

    private int separators() {
        int at = 0;
        while (at < waiting.length() && isBetweenCalls(waiting.charAt(at)) && !mayBeMark(at)) {
            at++;
        }
        return at;
    }

    private boolean mayBeMark(int at) {
        return opening.mayBegin(waiting, at) || closing.mayBegin(waiting, at);
    }

    /** Part of what a call needs around it; text if there is none. */
    private void pass(int count) {
        if (behindCall) {
            waiting.delete(0, count);
        } else {
            doubt(count);
        }
    }

    private boolean isBetweenCalls(char c) {
        return Character.isWhitespace(c) || (marked || style.bare()) && (c == ',' || c == ';')
                || marked && (c == '[' || c == ']');
    }

    private boolean readObject() {
        for (int at = 0; at < waiting.length(); at++) {
            if (object.hasBegun() && !object.isInText() && mayBeMark(at)) {
                boolean isMark = opening.at(waiting, at) != null || closing.at(waiting, at) != null;
                if (isMark) {
                    callIsOver(at);                                // the model has forgotten a brace
                } else {
                    waiting.delete(0, at);
                }
                return isMark;
            }
            Progress progress = object.accept(waiting.charAt(at));
            if (progress == Progress.NO_CALL) {
                doubt(at + 1);
                giveUp();
                return true;
            }
            if (progress == Progress.OVER) {
                callIsOver(at + 1);
                return true;
            }
        }
        doubt(waiting.length());
        if (object.hasBegun()) {
            doubtful.setLength(0);
        }
        return false;
    }

    private boolean readName() {
        int arguments = waiting.indexOf(OBJECT);
        if (arguments < 0) {
            if (waiting.length() > MAX_NAME_CHARS) {
                giveUp();
                return true;
            }
            return false;
        }
        String name = waiting.substring(0, arguments).replace(ARGS, "");
        int id = name.indexOf(ID);
        name = (id < 0 ? name : name.substring(0, id)).strip();
        if (arguments > MAX_NAME_CHARS || name.isEmpty() || name.chars().anyMatch(Character::isWhitespace)) {
            giveUp();
            return true;
        }
        waiting.delete(0, arguments);
        doubtful.setLength(0);
        parts.call(name);
        extent = new JsonExtent();
        state = State.ARGUMENTS;
        return true;
    }

    private boolean readArguments() {
        for (int at = 0; at < waiting.length(); at++) {
            parts.argument(waiting.charAt(at));
            if (extent.accept(waiting.charAt(at)) != JsonExtent.End.NOT_YET) {
                callIsOver(at + 1);
                return true;
            }
        }
        waiting.setLength(0);
        return false;
    }

    private void callIsOver(int end) {
        waiting.delete(0, end);
        doubtful.setLength(0);
        behindCall = true;
        state = State.CALLS;
    }

    /** The next characters are part of a call, if it is one. */
    private void doubt(int count) {
        doubtful.append(waiting, 0, count);
        waiting.delete(0, count);
    }

    /** It was none. */
    private void giveUp() {
        parts.text(doubtful);
        doubtful.setLength(0);
        state = State.TEXT;
    }
}
