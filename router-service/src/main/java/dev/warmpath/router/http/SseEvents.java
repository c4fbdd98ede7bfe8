package dev.warmpath.router.http;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

/**
 * Words one answer's server-sent events, straight into the network's memory. What is added between two {@link #take}s
 * is written together. One thread.
 */
public final class SseEvents {

    /** Nearly all events of one token. */
    private static final int FIRST_BYTES = 512;
    private static final byte[] HEARTBEAT = bytes(": still at it\n\n");
    private static final byte[] DATA = bytes("data: ");
    private static final byte[] END_OF_EVENT = bytes("\n\n");
    /** Of a template: where its text goes. Nothing else in an answer is written like this. */
    private static final String MARK = "<text goes here>";
    private static final byte[] HEX = bytes("0123456789ABCDEF");

    private final JsonMapper json;
    private final ByteBufAllocator memory;
    private @Nullable ByteBuf out;

    /** An event that differs from others by one text in its JSON: all that comes before and after it. */
    public static final class Template {

        private final byte[] before;
        private final byte[] after;

        private Template(byte[] before, byte[] after) {
            this.before = before;
            this.after = after;
        }
    }

    /** @param memory of the connection that is written to */
    SseEvents(JsonMapper json, ByteBufAllocator memory) {
        this.json = json;
        this.memory = memory;
    }

    /** @param value what JSON is made of */
    public void addJson(Object value) {
        add(json.writeValueAsBytes(value));
    }

    /** @param line without a line break */
    public void addText(String line) {
        add(bytes(line));
    }

    /**
     * Prepares an event that comes many times.
     *
     * @param event what JSON is made of, for a text; nothing that comes after the text in it is anybody's words
     */
    public Template template(Function<String, Object> event) {
        byte[] whole = json.writeValueAsBytes(event.apply(MARK));
        int at = new String(whole, StandardCharsets.ISO_8859_1).lastIndexOf(MARK);
        if (at < 0) {
            throw new IllegalArgumentException("the event has no text: " + new String(whole, StandardCharsets.UTF_8));
        }
        return new Template(Arrays.copyOf(whole, at), Arrays.copyOfRange(whole, at + MARK.length(), whole.length));
    }

    /** The template's event with this text. */
    public void add(Template template, String text) {
        ByteBuf to = open();
        to.writeBytes(DATA).writeBytes(template.before);
        addEscaped(to, text);
        to.writeBytes(template.after).writeBytes(END_OF_EVENT);
    }

    void addHeartbeat() {
        open().writeBytes(HEARTBEAT);
    }

    /** The last event of a stream that broke. */
    void addError(Throwable error) {
        addJson(ApiError.of(error).body());
    }

    boolean isEmpty() {
        return out == null;
    }

    /** What was added, at least one event, and nothing of it is left here: its memory is the caller's to give back. */
    ByteBuf take() {
        ByteBuf events = Objects.requireNonNull(out);
        out = null;
        return events;
    }

    /** Forgets what was added. */
    void clear() {
        if (out != null) {
            out.release();
            out = null;
        }
    }

    private ByteBuf open() {
        if (out == null) {
            out = memory.buffer(FIRST_BYTES);
        }
        return out;
    }

    private void add(byte[] data) {
        open().writeBytes(DATA).writeBytes(data).writeBytes(END_OF_EVENT);
    }

    /** As JSON asks, and no more: whole stretches that need nothing are written as they are. */
    private static void addEscaped(ByteBuf to, String text) {
        int plainFrom = 0;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c < ' ' || c == '"' || c == '\\') {
                ByteBufUtil.writeUtf8(to, text, plainFrom, i);
                addEscape(to, c);
                plainFrom = i + 1;
            }
        }
        ByteBufUtil.writeUtf8(to, text, plainFrom, text.length());
    }

    private static void addEscape(ByteBuf to, char c) {
        to.writeByte('\\');
        switch (c) {
            case '"', '\\' -> to.writeByte(c);
            case '\n' -> to.writeByte('n');
            case '\r' -> to.writeByte('r');
            case '\t' -> to.writeByte('t');
            case '\b' -> to.writeByte('b');
            case '\f' -> to.writeByte('f');
            default -> to.writeByte('u').writeByte('0').writeByte('0').writeByte(HEX[c >> 4]).writeByte(HEX[c & 15]);
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
