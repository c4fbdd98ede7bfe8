package dev.warmpath.planner.trace;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;
import org.jspecify.annotations.Nullable;

/**
 * A file's lines, one at a time, unpacked if it is gzipped, with the digest of its bytes as they lie there. However
 * long the file is, no more than one line of it is held, and none beyond {@value #MOST_BYTES} bytes.
 */
final class LineReader implements AutoCloseable {

    /** Of a line: a prompt of two million tokens as ids. */
    static final int MOST_BYTES = 16 << 20;
    private static final int GZIP_MAGIC = 0x1f8b;
    private static final int BUFFER_BYTES = 1 << 16;
    private static final String BYTE_ORDER_MARK = "\ufeff";

    private final String name;
    private final long fileBytes;
    private final Counted counted;
    private final InputStream bytes;
    private final ByteArrayOutputStream line = new ByteArrayOutputStream();
    private long number;
    private boolean isAtEnd;

    /** Counts and digests what is read of the file. */
    private static final class Counted extends FilterInputStream {

        private final MessageDigest digest;
        private long count;

        private Counted(InputStream in, MessageDigest digest) {
            super(in);
            this.digest = digest;
        }

        @Override
        public int read() throws IOException {
            throw new IOException("read in pieces alone");
        }

        @Override
        public int read(byte[] target, int from, int length) throws IOException {
            int read = super.read(target, from, length);
            if (read > 0) {
                digest.update(target, from, read);
                count += read;
            }
            return read;
        }

        @Override
        public boolean markSupported() {
            return false;
        }
    }

    /** @throws IOException if the file cannot be read, or is none */
    LineReader(Path file) throws IOException {
        name = file.toString();
        if (!Files.exists(file)) {
            throw new NoSuchFileException(name, null, "it is not there");
        } else if (!Files.isRegularFile(file)) {
            throw new FileSystemException(name, null, "it is no file of lines");
        }
        fileBytes = Files.size(file);
        counted = new Counted(Files.newInputStream(file), sha256());
        var buffered = new BufferedInputStream(counted, BUFFER_BYTES);
        bytes = new BufferedInputStream(isGzipped(buffered) ? unpacked(buffered) : buffered, BUFFER_BYTES);
    }

    private static boolean isGzipped(BufferedInputStream in) throws IOException {
        in.mark(2);
        boolean isGzipped = (in.read() << 8 | in.read()) == GZIP_MAGIC;
        in.reset();
        return isGzipped;
    }

    private InputStream unpacked(InputStream packed) throws IOException {
        try {
            return new GZIPInputStream(packed, BUFFER_BYTES);
        } catch (EOFException | ZipException e) {
            packed.close();
            throw new TraceException(name, 1, "the gzipped file is cut or damaged");
        }
    }

    /**
     * The next line that is not blank, as the file has it but for its end; null after the last one.
     *
     * @throws TraceException if it is too long, or the file cannot be unpacked
     */
    byte @Nullable [] next() throws IOException {
        while (!isAtEnd) {
            number++;
            byte[] read = readLine();
            if (!isBlank(read)) {
                return read;
            }
        }
        return null;
    }

    private byte[] readLine() throws IOException {
        line.reset();
        try {
            for (int next = bytes.read(); next != '\n'; next = bytes.read()) {
                if (next < 0) {
                    isAtEnd = true;
                    break;
                }
                if (line.size() == MOST_BYTES) {
                    throw new TraceException(name, number, "it has more than " + MOST_BYTES
                            + " bytes; no request is so long");
                }
                line.write(next);
            }
        } catch (EOFException | ZipException e) {
            throw new TraceException(name, number, "the gzipped file is cut or damaged here");
        }
        return line.toByteArray();
    }

    private static boolean isBlank(byte[] read) {
        for (byte each : read) {
            if (each != ' ' && each != '\t' && each != '\r') {
                return false;
            }
        }
        return true;
    }

    /** Of the last line, from 1. */
    long number() {
        return number;
    }

    /** @throws TraceException if it is no UTF-8 */
    String text(byte[] read) throws TraceException {
        try {
            String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(read)).toString();
            return number == 1 && text.startsWith(BYTE_ORDER_MARK) ? text.substring(1) : text;
        } catch (CharacterCodingException e) {
            throw problem("it is not UTF-8");
        }
    }

    TraceException problem(String sentence) {
        return new TraceException(name, number, sentence);
    }

    String name() {
        return name;
    }

    /** How much of the file was read, 0 to 1. */
    double share() {
        return fileBytes == 0 ? 1 : Math.min(1, (double) counted.count / fileBytes);
    }

    /** Of all bytes of the file, in hex. */
    String sha256OfAll() throws IOException {
        byte[] rest = new byte[BUFFER_BYTES];
        while (counted.read(rest, 0, rest.length) > 0) {
            // what follows the last line that was asked for
        }
        return HexFormat.of().formatHex(clone(counted.digest).digest());
    }

    private static MessageDigest clone(MessageDigest digest) {
        try {
            return (MessageDigest) digest.clone();
        } catch (CloneNotSupportedException e) {
            throw new IllegalStateException("SHA-256 can be cloned on every Java platform", e);
        }
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    @Override
    public void close() throws IOException {
        bytes.close();
    }
}
