package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.ComputeException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Panels in a file that another process has filled, see {@link PanelFile}. */
final class FilledPanels implements PanelPlace {

    private static final List<PanelFormat> FORMATS = PanelFormat.all();

    private static final Logger log = LoggerFactory.getLogger(FilledPanels.class);

    private final Path file;
    private final FileChannel channel;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment panels;
    private final ByteBuffer index;

    private FilledPanels(Path file, FileChannel channel, long panelBytes, ByteBuffer index) throws IOException {
        this.file = file;
        this.channel = channel;
        this.index = index;
        this.panels = channel.map(FileChannel.MapMode.READ_ONLY, 0, panelBytes, arena);
    }

    /**
     * @param channel the result's from now on
     * @return null, and the channel stays the caller's, if the file does not end as such a one does
     */
    static @Nullable FilledPanels read(Path file, FileChannel channel) throws IOException {
        ByteBuffer trailer = bytes(channel, channel.size() - PanelFile.TRAILER_BYTES, PanelFile.TRAILER_BYTES);
        if (trailer == null || trailer.getLong() != PanelFile.MAGIC) {
            return null;
        }
        long indexStart = trailer.getLong();
        int indexBytes = trailer.getInt();
        if (indexStart < 0 || indexBytes < 0
                || indexStart != channel.size() - PanelFile.TRAILER_BYTES - indexBytes) {
            return null;
        }
        ByteBuffer index = bytes(channel, indexStart, indexBytes);
        if (index == null) {
            return null;
        }
        var checksum = new CRC32C();
        checksum.update(index.duplicate());
        return (int) checksum.getValue() == trailer.getInt() ? new FilledPanels(file, channel, indexStart, index)
                : null;
    }

    /** @return null if the file is shorter */
    private static @Nullable ByteBuffer bytes(FileChannel channel, long start, int count) throws IOException {
        if (start < 0 || start > channel.size() - count) {
            return null;
        }
        ByteBuffer bytes = ByteBuffer.allocate(count);
        while (bytes.hasRemaining()) {
            if (channel.read(bytes, start + bytes.position()) < 0) {
                return null;
            }
        }
        return bytes.flip();
    }

    /** Nothing is uploaded here. */
    @Override
    public MemorySegment allocate(long bytes) {
        throw new IllegalStateException("weights of " + file + " are taken over whole");
    }

    @Override
    public boolean adopt(PanelWeight weight) {
        int count = weight.panels.length;
        if (index.remaining() < 2 * Integer.BYTES + count * (1 + Long.BYTES)
                || index.getInt() != weight.rows() || index.getInt() != weight.columns()) {
            throw damaged();
        }
        for (int i = 0; i < count; i++) {
            int format = index.get();
            long start = index.getLong();
            if (format < 0 || format >= FORMATS.size() || start < 0) {
                throw damaged();
            }
            weight.formats[i] = FORMATS.get(format);
            long bytes = weight.formats[i].bytes(PanelFormat.wholeGroups(weight.columns()));
            if (bytes > panels.byteSize() - start) {
                throw damaged();
            }
            weight.panels[i] = panels.asSlice(start, bytes);
        }
        return true;
    }

    /** Whoever starts next makes it anew. */
    private ComputeException damaged() {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            log.warn("{} stays: {}", file, e.toString());
        }
        return new ComputeException(file + " did not hold the weights of this model, and is deleted: start again");
    }

    @Override
    public void close() {
        arena.close();
        try {
            channel.close();
        } catch (IOException e) {
            log.warn("{} cannot be closed: {}", file, e.toString());
        }
    }
}
