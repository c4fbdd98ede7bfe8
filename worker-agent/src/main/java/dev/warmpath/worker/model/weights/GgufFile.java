package dev.warmpath.worker.model.weights;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
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

    private final MappedFile file;
    private final GgufMetadata metadata;

    private GgufFile(MappedFile file, GgufMetadata metadata) {
        this.file = file;
        this.metadata = metadata;
    }

    /**
     * @param path no link
     * @throws WeightFileException if the file breaks the format's rules
     * @throws IOException if it cannot be read
     */
    public static GgufFile open(Path path) throws IOException {
        try (var channel = FileChannel.open(path, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)) {
            long fileSize = channel.size();
            var header = GgufHeader.read(path, channel, fileSize);
            var file = MappedFile.map(path, channel, fileSize, header.tensors());
            return new GgufFile(file, new GgufMetadata(path, header.values(), file.bytes()));
        }
    }

    /** As long as the file is open. */
    public GgufMetadata metadata() {
        return metadata;
    }

    @Override
    public Path path() {
        return file.path();
    }

    @Override
    public List<WeightTensor> tensors() {
        return file.tensors();
    }

    @Override
    public void close() {
        file.close();
    }
}
