package dev.warmpath.worker.model.weights;

import static dev.warmpath.worker.model.weights.WeightFileException.NO_TENSOR;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A safetensors file, mapped into memory: 8 bytes of header length (little-endian), the JSON header, the tensors.
 * Everything the header claims is checked before the file is mapped. Closing unmaps it; tensors are dead afterwards.
 * Source of the format: github.com/huggingface/safetensors, README, "Format".
 */
public final class SafetensorsFile implements AutoCloseable {

    static final int LENGTH_BYTES = Long.BYTES;
    /** As in the format's own implementation: a longer header is an attack or a broken length. */
    static final long MAX_HEADER_BYTES = 100_000_000;

    private final Path file;
    private final Arena arena = Arena.ofShared();
    private final Map<String, WeightTensor> tensors = new LinkedHashMap<>();

    private SafetensorsFile(Path file) {
        this.file = file;
    }

    /**
     * @throws WeightFileException if the file breaks the format's rules
     * @throws IOException if it cannot be read
     */
    public static SafetensorsFile open(Path path) throws IOException {
        var opened = new SafetensorsFile(path);
        try (var channel = FileChannel.open(path, StandardOpenOption.READ)) {
            opened.map(channel);
            return opened;
        } catch (IOException | RuntimeException e) {
            opened.close();
            throw e;
        }
    }

    private void map(FileChannel channel) throws IOException {
        long fileSize = channel.size();
        long headerBytes = headerLength(channel, fileSize);
        var header = ByteBuffer.allocate((int) headerBytes);
        readFully(channel, header, LENGTH_BYTES);
        var parser = new SafetensorsHeader(file, LENGTH_BYTES + headerBytes, fileSize);
        var entries = parser.parse(header.array());
        var mapped = channel.map(FileChannel.MapMode.READ_ONLY, 0, fileSize, arena);
        for (var entry : entries) {
            MemorySegment values = mapped.asSlice(entry.start(), entry.end() - entry.start());
            tensors.put(entry.name(), new WeightTensor(entry.name(), entry.format(), entry.shape(), values));
        }
    }

    private long headerLength(FileChannel channel, long fileSize) throws IOException {
        if (fileSize < LENGTH_BYTES) {
            throw new WeightFileException(file, NO_TENSOR, 0,
                    "file of %d bytes has no header length".formatted(fileSize));
        }
        var length = ByteBuffer.allocate(LENGTH_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        readFully(channel, length, 0);
        long headerBytes = length.getLong(0);
        long limit = Math.min(MAX_HEADER_BYTES, fileSize - LENGTH_BYTES);
        if (headerBytes < 0 || headerBytes > limit) {
            throw new WeightFileException(file, NO_TENSOR, 0, "header of %s bytes, takes up to %d"
                    .formatted(Long.toUnsignedString(headerBytes), limit));
        }
        return headerBytes;
    }

    private void readFully(FileChannel channel, ByteBuffer target, long position) throws IOException {
        while (target.hasRemaining()) {
            int count = channel.read(target, position + target.position());
            if (count < 0) {
                throw new WeightFileException(file, NO_TENSOR, position + target.position(), "file ends here");
            }
        }
    }

    public Path path() {
        return file;
    }

    public Set<String> names() {
        return tensors.keySet();
    }

    /** @return null if the file has no tensor of this name */
    public @Nullable WeightTensor find(String name) {
        return tensors.get(name);
    }

    @Override
    public void close() {
        arena.close();
    }
}
