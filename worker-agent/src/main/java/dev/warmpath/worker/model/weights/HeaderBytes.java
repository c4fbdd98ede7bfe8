package dev.warmpath.worker.model.weights;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;

/**
 * A file's header, read once from a byte on, up to another. Holds 64 KiB of it at a time, whatever the header claims.
 */
final class HeaderBytes extends InputStream {

    private static final int WINDOW_BYTES = 1 << 16;

    private final Path file;
    private final FileChannel channel;
    private final long end;
    private final ByteBuffer window = ByteBuffer.allocate(WINDOW_BYTES).order(ByteOrder.LITTLE_ENDIAN).flip();
    /** Where the window ends in the file. */
    private long windowEnd;

    /** @param end exclusive, within the file */
    HeaderBytes(Path file, FileChannel channel, long start, long end) {
        this.file = file;
        this.channel = channel;
        this.windowEnd = start;
        this.end = end;
    }

    /** Byte in the file that comes next. */
    long position() {
        return windowEnd - window.remaining();
    }

    long remaining() {
        return end - position();
    }

    /** @param part what is read, for the message. @throws WeightFileException if fewer bytes are left */
    byte readByte(String part) throws IOException {
        return next(Byte.BYTES, part).get();
    }

    int readInt(String part) throws IOException {
        return next(Integer.BYTES, part).getInt();
    }

    long readLong(String part) throws IOException {
        return next(Long.BYTES, part).getLong();
    }

    byte[] readBytes(int count, String part) throws IOException {
        require(count, part);
        byte[] bytes = new byte[count];
        for (int done = 0; done < count; ) {
            int portion = Math.min(count - done, WINDOW_BYTES);
            next(portion, part).get(bytes, done, portion);
            done += portion;
        }
        return bytes;
    }

    void skipBytes(long count, String part) throws IOException {
        require(count, part);
        long inWindow = Math.min(count, window.remaining());
        window.position(window.position() + (int) inWindow);
        windowEnd += count - inWindow;
    }

    private void require(long count, String part) {
        if (count > remaining()) {
            throw new WeightFileException(file, part, position(), "%d bytes are left here, takes %d"
                    .formatted(remaining(), count));
        }
    }

    private ByteBuffer next(int count, String part) throws IOException {
        if (window.remaining() < count) {
            require(count, part);
            fill(count);
        }
        return window;
    }

    private void fill(int count) throws IOException {
        window.compact();
        window.limit((int) Math.min(window.capacity(), window.position() + (end - windowEnd)));
        while (window.position() < count) {
            int read = channel.read(window, windowEnd);
            if (read < 0) {
                throw new WeightFileException(file, WeightFileException.HEADER, windowEnd, "file ends here");
            }
            windowEnd += read;
        }
        window.flip();
    }

    @Override
    public int read() throws IOException {
        return remaining() == 0 ? -1 : next(1, WeightFileException.HEADER).get() & 0xFF;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
        if (length == 0 || remaining() == 0) {
            return length == 0 ? 0 : -1;
        }
        int count = Math.min(length, next(1, WeightFileException.HEADER).remaining());
        window.get(target, offset, count);
        return count;
    }
}
