package dev.warmpath.router.answer.dialect;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * OpenAI's harmony, which gpt-oss writes: an answer is messages, each with a header that names its channel and, of a
 * call, its recipient. The prompt ends behind the first {@code <|start|>assistant}:
 * <pre>
 *   &lt;|channel|>analysis&lt;|message|>reasoning&lt;|end|>
 *   &lt;|start|>assistant&lt;|channel|>commentary to=functions.f &lt;|constrain|>json&lt;|message|>{…}&lt;|call|>
 *   &lt;|start|>assistant&lt;|channel|>final&lt;|message|>text&lt;|return|>
 * </pre>
 */
final class HarmonyStage implements Stage {

    static final String CHANNEL = "<|channel|>";
    private static final String MESSAGE = "<|message|>";
    private static final String START = "<|start|>";
    static final List<String> MARKS =
            List.of(CHANNEL, MESSAGE, START, "<|constrain|>", "<|end|>", "<|call|>", "<|return|>");

    private static final String RECIPIENT = "to=";
    private static final String FUNCTIONS = "functions.";
    private static final String REASONING = "analysis";
    /** Headers are short; what goes on for longer has none. */
    private static final int MAX_HEADER_CHARS = 512;
    private static final Marks HEADER_END = new Marks(List.of(MESSAGE));
    private static final Marks BODY_END = new Marks(List.of("<|end|>", "<|call|>", "<|return|>", START, CHANNEL));

    private enum State { HEADER, TEXT, REASONING, CALL }

    private final Parts parts;
    private final boolean hasTools;
    private final StringBuilder waiting = new StringBuilder();
    private HeldTail arguments;
    private State state = State.HEADER;

    /** @param hasTools false: what is written to a tool is a kind of reasoning */
    HarmonyStage(Parts parts, boolean hasTools) {
        this.parts = parts;
        this.hasTools = hasTools;
        this.arguments = newArguments();
    }

    private HeldTail newArguments() {
        return new HeldTail(HeldTail.WHITE, parts::arguments);
    }

    @Override
    public void accept(String text) {
        waiting.append(text);
        while (!waiting.isEmpty() && (state == State.HEADER ? readHeader() : readBody())) { }    // as far as it goes
    }

    private boolean readHeader() {
        int end = HEADER_END.beginning(waiting);
        if (end <= MAX_HEADER_CHARS && HEADER_END.at(waiting, end) != null) {
            String header = waiting.substring(0, end);
            waiting.delete(0, end + MESSAGE.length());
            begin(header);
            return true;
        }
        if (end <= MAX_HEADER_CHARS) {
            return false;
        }
        parts.text(waiting.subSequence(0, MAX_HEADER_CHARS));      // a mark in it begins no other header
        waiting.delete(0, MAX_HEADER_CHARS);
        state = State.TEXT;
        return true;
    }

    private void begin(String header) {
        @Nullable String recipient = word(header, header.indexOf(RECIPIENT), RECIPIENT);
        @Nullable String channel = word(header, header.indexOf(CHANNEL), CHANNEL);
        if (recipient != null && hasTools) {
            parts.call(recipient.startsWith(FUNCTIONS) ? recipient.substring(FUNCTIONS.length()) : recipient);
            arguments = newArguments();
            state = State.CALL;
        } else {
            state = recipient != null || REASONING.equals(channel) ? State.REASONING : State.TEXT;
        }
    }

    /** What stands behind a word of the header, up to white space or a mark. */
    private static @Nullable String word(String header, int at, String before) {
        if (at < 0) {
            return null;
        }
        int from = at + before.length();
        int to = from;
        while (to < header.length() && header.charAt(to) != '<' && !Character.isWhitespace(header.charAt(to))) {
            to++;
        }
        return header.substring(from, to);
    }

    private boolean readBody() {
        int end = BODY_END.beginning(waiting);
        @Nullable String mark = BODY_END.at(waiting, end);
        passOn(waiting.substring(0, end));
        waiting.delete(0, end);
        if (mark == null) {
            return false;
        }
        if (state == State.CALL) {
            parts.endCall();
        }
        boolean beginsHeader = mark.equals(START) || mark.equals(CHANNEL);
        waiting.delete(0, beginsHeader ? 0 : mark.length());
        state = State.HEADER;
        return true;
    }

    private void passOn(String body) {
        switch (state) {
            case REASONING -> parts.reasoning(body);
            case CALL -> arguments.accept(body);
            case TEXT, HEADER -> parts.text(body);
        }
    }

    /** Without any header, what has come is text; behind a message, it is one that was cut off. */
    @Override
    public void finish() {
        if (state != State.HEADER) {
            passOn(waiting.toString());
        } else if (!new Marks(MARKS).mayBegin(waiting, 0)) {
            parts.text(waiting);
        }
        waiting.setLength(0);
    }
}
