package dev.warmpath.router.dispatch;

import dev.warmpath.protocol.generate.GenerateEvent;
import io.netty.buffer.ByteBuf;
import java.util.Arrays;
import java.util.function.Consumer;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/** Puts the lines of an answer together, however they are cut, and reads them. One answer, one thread. */
final class EventLines {

    /** A line carries the tokens of a few steps, some thousand at most. */
    static final int MAX_LINE_BYTES = 256 << 10;
    private static final int FIRST_LINE_BYTES = 256;

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
