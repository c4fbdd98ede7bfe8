package dev.warmpath.router.dispatch;

import dev.warmpath.protocol.generate.GenerateEvent;
import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * Puts the lines of an answer together, however they are cut, and reads them. One answer, one thread.
 *
 * <p>Nearly every line is a token or a few, in the words that {@link GenerateEvent} writes: those are read by hand, which
 * takes a hundredth of a token's time; any other line, and any other spelling of the same, is read as JSON.
 */
final class EventLines {

    /** A line carries the tokens of a few steps, some thousand at most. */
    static final int MAX_LINE_BYTES = 256 << 10;
    private static final int FIRST_LINE_BYTES = 256;
    private static final byte[] TOKENS = ascii("{\"type\":\"tokens\",\"index\":");
    private static final byte[] IDS = ascii(",\"ids\":[");
    private static final byte[] END = ascii("]}");
    /** So many digits are an int in any case. */
    private static final int MAX_DIGITS = 9;

    /** What came is no line of the protocol. The message names the fault, not the content. */
    static final class BadLineException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        BadLineException(String message) {
            super(message, null, false, false);
        }
    }

    private final JsonMapper json;
    private byte[] line = new byte[FIRST_LINE_BYTES];
    private int length;
    /** The next byte to be read by hand. */
    private int at;
    private int[] ids = new int[16];

    EventLines(JsonMapper json) {
        this.json = json;
    }

    /**
     * Takes the next bytes of the answer.
     *
     * @param events is given each event whose line ends in them
     * @throws BadLineException if a line is longer than {@value #MAX_LINE_BYTES} bytes or is no event
     */
    void accept(ByteBuf bytes, Consumer<GenerateEvent> events) {
        while (bytes.isReadable()) {
            int lineBytes = bytes.bytesBefore((byte) '\n');
            add(bytes, lineBytes < 0 ? bytes.readableBytes() : lineBytes);
            if (lineBytes < 0) {
                return;
            }
            bytes.skipBytes(1);
            int end = length;
            length = 0;
            if (end > 0) {
                events.accept(read(end));
            }
        }
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    private void add(ByteBuf bytes, int count) {
        if (count > MAX_LINE_BYTES - length) {
            throw new BadLineException("a line is longer than " + MAX_LINE_BYTES + " bytes");
        }
        if (length + count > line.length) {
            line = Arrays.copyOf(line, Math.min(MAX_LINE_BYTES, Math.max(length + count, 2 * line.length)));
        }
        bytes.readBytes(line, length, count);
        length += count;
    }

    private GenerateEvent read(int end) {
        GenerateEvent tokens = readTokens(end);
        return tokens != null ? tokens : readJson(end);
    }

    /** @return null if the line is no such event, or one in other words than ours */
    private GenerateEvent.@Nullable Tokens readTokens(int end) {
        at = 0;
        if (!skip(TOKENS, end)) {
            return null;
        }
        int index = number(end);
        if (index < 0 || !skip(IDS, end)) {
            return null;
        }
        int count = 0;
        do {
            int id = number(end);
            if (id < 0) {
                return null;
            }
            if (count == ids.length) {
                ids = Arrays.copyOf(ids, 2 * count);
            }
            ids[count++] = id;
        } while (skipComma(end));
        return skip(END, end) && at == end ? new GenerateEvent.Tokens(index, Arrays.copyOf(ids, count), null) : null;
    }

    private boolean skip(byte[] words, int end) {
        int from = at;
        at += words.length;
        return at <= end && Arrays.equals(line, from, at, words, 0, words.length);
    }

    private boolean skipComma(int end) {
        boolean isThere = at < end && line[at] == ',';
        at += isThere ? 1 : 0;
        return isThere;
    }

    /** @return -1 if there is none, or one that JSON would not take or an int might not hold */
    private int number(int end) {
        int from = at;
        int value = 0;
        while (at < end && line[at] >= '0' && line[at] <= '9') {
            value = 10 * value + line[at++] - '0';                 // may overflow, and is then too long
        }
        int digits = at - from;
        boolean isPlain = digits == 1 || digits > 1 && digits <= MAX_DIGITS && line[from] != '0';
        return isPlain ? value : -1;
    }

    private GenerateEvent readJson(int end) {
        try {
            GenerateEvent event = json.readValue(line, 0, end, GenerateEvent.class);
            if (event == null) {
                throw new BadLineException("a line is no event: null");
            }
            return event;
        } catch (JacksonException e) {
            throw new BadLineException("a line is no event: " + e.getOriginalMessage());
        }
    }
}
