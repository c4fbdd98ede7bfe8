package dev.warmpath.worker.model.weights;

import dev.warmpath.worker.compute.WeightFormat;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.List;

/** A file in memory whose header has been found good. @param bytes of all of it */
record MappedFile(Path path, List<WeightTensor> tensors, MemorySegment bytes, Arena arena) implements WeightFile {

    /** Where one tensor lies, within the file. @param start byte in the file */
    record Entry(String name, WeightFormat format, List<Integer> shape, long start, long bytes) {

        /** Exclusive. */
        long end() {
            return start + bytes;
        }
    }

    /**
     * @param fileSize that the header was held against
     * @param entries  in the order of the file
     * @throws IOException if it cannot be mapped
     */
    static MappedFile map(Path path, FileChannel channel, long fileSize, List<Entry> entries) throws IOException {
        Arena arena = Arena.ofShared();
        try {
            MemorySegment bytes = channel.map(FileChannel.MapMode.READ_ONLY, 0, fileSize, arena);
            List<WeightTensor> tensors = entries.stream().map(entry -> new WeightTensor(entry.name, entry.format,
                    entry.shape, bytes.asSlice(entry.start, entry.bytes))).toList();
            return new MappedFile(path, tensors, bytes, arena);
        } catch (IOException | RuntimeException e) {
            arena.close();
            throw e;
        }
    }

    @Override
    public void close() {
        arena.close();
    }
}
