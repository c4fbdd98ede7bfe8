package dev.warmpath.worker.model.weights;

import static dev.warmpath.worker.model.weights.WeightFileException.HEADER;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A safetensors file, mapped into memory: 8 bytes of header length (little-endian), the JSON header, the tensors.
 * Everything the header claims is checked before the file is mapped.
 * Source of the format: github.com/huggingface/safetensors, README, "Format".
 */
public final class SafetensorsFile {

    static final int LENGTH_BYTES = Long.BYTES;
    /** As in the format's own implementation: a longer header is an attack or a broken length. */
    static final long MAX_HEADER_BYTES = 100_000_000;

    private SafetensorsFile() {
    }

    /**
     * @param path no link
     * @throws WeightFileException if the file breaks the format's rules
     * @throws IOException if it cannot be read
     */
    public static WeightFile open(Path path) throws IOException {
        try (var channel = FileChannel.open(path, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)) {
            long fileSize = channel.size();
            long dataStart = LENGTH_BYTES + headerLength(path, channel, fileSize);
            var header = new SafetensorsHeader(path, dataStart, fileSize);
            return MappedFile.map(path, channel, fileSize,
                    header.parse(new HeaderBytes(path, channel, LENGTH_BYTES, dataStart)));
        }
    }

    private static long headerLength(Path file, FileChannel channel, long fileSize) throws IOException {
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
}
