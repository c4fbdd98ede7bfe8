package dev.warmpath.router.answer.dialect;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Calls as DeepSeek V3 writes them, a type and a name before arguments in a fence,
 * {@code <｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{…}\n```<｜tool▁call▁end｜>}, and as V3.1 does,
 * {@code <｜tool▁call▁begin｜>f<｜tool▁sep｜>{…}<｜tool▁call▁end｜>}; around all of them {@code <｜tool▁calls▁begin｜>} and
 * {@code <｜tool▁calls▁end｜>}.
 */
final class DeepSeekStage implements Stage {

    static final String CALLS = "<｜tool▁calls▁begin｜>";
    private static final String CALLS_END = "<｜tool▁calls▁end｜>";
    private static final String CALL = "<｜tool▁call▁begin｜>";
    private static final String CALL_END = "<｜tool▁call▁end｜>";
    private static final String SEPARATOR = "<｜tool▁sep｜>";
    static final List<String> MARKS = List.of(CALLS, CALLS_END, CALL, CALL_END, SEPARATOR);

    private static final String FENCE = "```";
    /** What stands before arguments is short; what goes on for longer is a text. */
    private static final int MAX_HEADER_CHARS = 256;
    /** V3 has a type where V3.1 has the name. */
    private static final String TYPE = "function";
    private static final Marks BEGINNING = new Marks(List.of(CALLS, CALL));
    private static final Marks BETWEEN = new Marks(List.of(CALL, CALLS_END));
    private static final Marks HEADER_END = new Marks(List.of(SEPARATOR));
    private static final Marks END = new Marks(List.of(CALL_END, CALLS_END));

    private enum State { TEXT, BETWEEN, HEADER, NAME, FENCE, ARGUMENTS }

    private final Parts parts;
    private final HeldTail text;
    private final StringBuilder waiting = new StringBuilder();
    private HeldTail arguments;
    private State state = State.TEXT;

    DeepSeekStage(Parts parts) {
        this.parts = parts;
        this.text = new HeldTail(HeldTail.WHITE, parts::text);
        this.arguments = newArguments();
    }

    /** White space and the fence's end behind them are left out. */
    private HeldTail newArguments() {
        return new HeldTail(HeldTail.WHITE + '`', parts::arguments);
    }

    @Override
    public void accept(String more) {
        waiting.append(more);
        while (!waiting.isEmpty() && read()) { }                   // as far as it goes
    }

    private boolean read() {
        return switch (state) {
            case TEXT -> readText();
            case BETWEEN -> readBetween();
            case HEADER -> readHeader();
            case NAME -> readName();
            case FENCE -> readFence();
            case ARGUMENTS -> readArguments();
        };
    }

    private boolean readText() {
        int mark = BEGINNING.beginning(waiting);
        @Nullable String found = BEGINNING.at(waiting, mark);
        text.accept(waiting.substring(0, mark));
        waiting.delete(0, mark);
        if (found == null) {
            return false;
        }
        text.end();
        waiting.delete(0, found.length());
        state = found.equals(CALL) ? State.HEADER : State.BETWEEN;
        return true;
    }

    private boolean readBetween() {
        waiting.delete(0, Stage.blanks(waiting));
        @Nullable String found = BETWEEN.at(waiting, 0);
        if (found != null) {
            waiting.delete(0, found.length());
            state = found.equals(CALL) ? State.HEADER : State.TEXT;
            return true;
        }
        if (BETWEEN.mayBegin(waiting, 0)) {
            return false;
        }
        state = State.TEXT;
        return true;
    }

    private boolean readHeader() {
        int mark = HEADER_END.beginning(waiting);
        if (mark > MAX_HEADER_CHARS) {
            state = State.TEXT;
            return true;
        }
        if (HEADER_END.at(waiting, mark) == null) {
            return false;
        }
        String header = waiting.substring(0, mark).strip();
        waiting.delete(0, mark + SEPARATOR.length());
        if (header.equals(TYPE)) {
            state = State.NAME;
        } else {
            begin(header);
        }
        return true;
    }

    private boolean readName() {
        int line = lineEnd();
        if (line > MAX_HEADER_CHARS) {
            state = State.TEXT;
            return true;
        }
        if (line == waiting.length()) {
            return false;
        }
        String name = waiting.substring(0, line).strip();
        waiting.delete(0, line + 1);
        begin(name);
        return true;
    }

    /** What waits has so many characters, where no line ends in it. */
    private int lineEnd() {
        int line = waiting.indexOf("\n");
        return line < 0 ? waiting.length() : line;
    }

    private void begin(String name) {
        parts.call(name);
        arguments = newArguments();
        state = State.FENCE;
    }

    /** White space, and a line that opens a fence. */
    private boolean readFence() {
        waiting.delete(0, Stage.blanks(waiting));
        if (waiting.isEmpty() || FENCE.startsWith(waiting.toString())) {
            return false;
        }
        if (waiting.indexOf(FENCE) == 0) {
            int line = lineEnd();
            if (line == waiting.length() && line <= MAX_HEADER_CHARS) {
                return false;
            }
            waiting.delete(0, line <= MAX_HEADER_CHARS ? line + 1 : 0);
        }
        state = State.ARGUMENTS;
        return true;
    }

    private boolean readArguments() {
        int mark = END.beginning(waiting);
        @Nullable String found = END.at(waiting, mark);
        arguments.accept(waiting.substring(0, mark));
        waiting.delete(0, mark);
        if (found == null) {
            return false;
        }
        waiting.delete(0, found.length());
        parts.endCall();
        state = found.equals(CALLS_END) ? State.TEXT : State.BETWEEN;
        return true;
    }

    @Override
    public void finish() {
        if (state != State.ARGUMENTS && state != State.FENCE) {
            parts.text(text.rest());
            parts.text(waiting);
        }
        waiting.setLength(0);
    }
}
