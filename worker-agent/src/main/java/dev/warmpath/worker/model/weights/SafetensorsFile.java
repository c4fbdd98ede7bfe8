package dev.warmpath.worker.model.weights;

import static dev.warmpath.worker.model.weights.WeightFileException.HEADER;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.channels.FileChannel;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * A safetensors file, mapped into memory: 8 bytes of header length (little-endian), the JSON header, the tensors.
 * Everything the header claims is checked before the file is mapped.
 * Source of the format: github.com/huggingface/safetensors, README, "Format".
 */
public final class SafetensorsFile implements WeightFile {

    static final int LENGTH_BYTES = Long.BYTES;
    /** As in the format's own implementation: a longer header is an attack or a broken length. */
    static final long MAX_HEADER_BYTES = 100_000_000;

    private final Path file;
    private final Arena arena = Arena.ofShared();
    private final List<WeightTensor> tensors = new ArrayList<>();

    private SafetensorsFile(Path file) {
        this.file = file;
    }

    /**
     * @param path no link
     * @throws WeightFileException if the file breaks the format's rules
     * @throws IOException if it cannot be read
     */
    public static SafetensorsFile open(Path path) throws IOException {
        var opened = new SafetensorsFile(path);
        try (var channel = FileChannel.open(path, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)) {
            opened.map(channel);
            return opened;
        } catch (IOException | RuntimeException e) {
            opened.close();
            throw e;
        }
    }

    private void map(FileChannel channel) throws IOException {
        long fileSize = channel.size();
        long dataStart = LENGTH_BYTES + headerLength(channel, fileSize);
        var parser = new SafetensorsHeader(file, dataStart, fileSize);
        var entries = parser.parse(new HeaderBytes(file, channel, LENGTH_BYTES, dataStart));
        var mapped = channel.map(FileChannel.MapMode.READ_ONLY, 0, fileSize, arena);
        for (var entry : entries) {
            tensors.add(new WeightTensor(entry.name(), entry.format(), entry.shape(),
                    mapped.asSlice(entry.start(), entry.end() - entry.start())));
        }
    }

    private long headerLength(FileChannel channel, long fileSize) throws IOException {
        if (fileSize < LENGTH_BYTES) {
            throw new WeightFileException(file, HEADER, 0, "file of %d bytes has no header length".formatted(fileSize));
        }
        long headerBytes = new HeaderBytes(file, channel, 0, LENGTH_BYTES).readLong(HEADER);
        long limit = Math.min(MAX_HEADER_BYTES, fileSize - LENGTH_BYTES);
        if (headerBytes < 0 || headerBytes > limit) {
            throw new WeightFileException(file, HEADER, 0, "header of %s bytes, takes up to %d"
                    .formatted(Long.toUnsignedString(headerBytes), limit));
        }
        return headerBytes;
    }

    @Override
    public Path path() {
        return file;
    }

    @Override
    public List<WeightTensor> tensors() {
        return Collections.unmodifiableList(tensors);
    }

    @Override
    public void close() {
        arena.close();
    }
}
