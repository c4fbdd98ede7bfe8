package dev.warmpath.worker.model.weights;

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
 * A GGUF file, mapped into memory: a header with a model's {@link GgufMetadata} and where its tensors lie, then these.
 * Everything the header claims is checked before the file is mapped. Tensors have the names and the order of rows that
 * the file gives them.
 *
 * <p>Versions 2 and 3, little-endian. Source of the format: github.com/ggml-org/ggml, docs/gguf.md; of what a reader
 * must refuse, ggml's gguf.cpp.
 */
public final class GgufFile implements WeightFile {

    private final Path file;
    private final Arena arena = Arena.ofShared();
    private final List<WeightTensor> tensors = new ArrayList<>();
    private final GgufMetadata metadata;

    private GgufFile(Path file, FileChannel channel) throws IOException {
        this.file = file;
        try {
            long fileSize = channel.size();
            var header = GgufHeader.read(file, channel, fileSize);
            var mapped = channel.map(FileChannel.MapMode.READ_ONLY, 0, fileSize, arena);
            metadata = new GgufMetadata(file, header.values(), mapped);
            for (var entry : header.tensors()) {
                tensors.add(new WeightTensor(entry.name(), entry.format(), entry.shape(),
                        mapped.asSlice(entry.start(), entry.bytes())));
            }
        } catch (IOException | RuntimeException e) {
            arena.close();
            throw e;
        }
    }

    /**
     * @param path no link
     * @throws WeightFileException if the file breaks the format's rules
     * @throws IOException if it cannot be read
     */
    public static GgufFile open(Path path) throws IOException {
        try (var channel = FileChannel.open(path, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)) {
            return new GgufFile(path, channel);
        }
    }

    /** As long as the file is open. */
    public GgufMetadata metadata() {
        return metadata;
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
