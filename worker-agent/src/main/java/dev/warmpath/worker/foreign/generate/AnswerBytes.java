package dev.warmpath.worker.foreign.generate;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Cuts an answer into the pieces that a dialect reads, the data of server-sent events as they come; or gathers it, if
 * it comes whole. Events of these engines have one line of data; comments and other fields are passed over. A line that
 * does not end is no event.
 *
 * <p>Never holds more than a line, nor more of it than an answer that is right can have.
 */
final class AnswerBytes {

    /** Takes a piece. Valid during the call. */
    interface Taker {
        void take(byte[] bytes, int from, int length) throws UnreadableAnswerException;
    }

    private static final byte[] DATA = "data:".getBytes(StandardCharsets.US_ASCII);
    private static final int USUAL_LINE = 512;
    /** A longer line, as a first one with the prompt in it, does not keep its room for the rest of the answer. */
    private static final int LONGEST_KEPT = 16 << 10;

    private final boolean byEvents;
    private final long mostBytes;
    private final Taker taker;
    private byte[] held = new byte[USUAL_LINE];
    private int length;

    /** @param mostBytes of one piece */
    AnswerBytes(boolean byEvents, long mostBytes, Taker taker) {
        this.byEvents = byEvents;
        this.mostBytes = mostBytes;
        this.taker = taker;
    }

    /** Reads all of it. */
    void add(ByteBuf bytes) throws UnreadableAnswerException {
        while (bytes.isReadable()) {
            int toBreak = byEvents ? bytes.bytesBefore((byte) '\n') : -1;
            hold(bytes, toBreak < 0 ? bytes.readableBytes() : toBreak);
            if (toBreak >= 0) {
                bytes.skipBytes(1);
                endLine();
            }
        }
    }

    private void hold(ByteBuf bytes, int count) throws UnreadableAnswerException {
        if ((long) length + count > mostBytes) {
            throw new UnreadableAnswerException("it sent a piece of more than " + mostBytes + " bytes");
        }
        if (length + count > held.length) {
            held = Arrays.copyOf(held, (int) Math.min(mostBytes, Math.max(2L * held.length, length + count)));
        }
        bytes.readBytes(held, length, count);
        length += count;
    }

    private void endLine() throws UnreadableAnswerException {
        int end = length > 0 && held[length - 1] == '\r' ? length - 1 : length;
        boolean isData = end >= DATA.length && Arrays.equals(held, 0, DATA.length, DATA, 0, DATA.length);
        length = 0;
        if (isData) {
            int from = end > DATA.length && held[DATA.length] == ' ' ? DATA.length + 1 : DATA.length;
            taker.take(held, from, end - from);
        }
        if (held.length > LONGEST_KEPT) {
            held = new byte[USUAL_LINE];
        }
    }

    /** What has come, of a body that is not read by events. */
    byte[] rest() {
        return Arrays.copyOf(held, length);
    }
}
