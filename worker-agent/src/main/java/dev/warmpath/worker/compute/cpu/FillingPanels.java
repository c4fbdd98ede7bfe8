package dev.warmpath.worker.compute.cpu;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.zip.CRC32C;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Panels for a file that others will read. A weight is packed in memory of this process; when it is whole it is written
 * and mapped instead, so that only one weight lies there at a time, and nothing is ever written to a mapped page, which
 * on a full disk would be the process' end.
 *
 * <p>Where the file cannot be written any more, weights stay in memory and nobody gets the file.
 */
final class FillingPanels implements PanelPlace {

    private static final List<PanelFormat> FORMATS = PanelFormat.all();

    private static final Logger log = LoggerFactory.getLogger(FillingPanels.class);

    private final Path file;
    private final Path part;
    private final FileChannel channel;
    private final FileChannel lock;
    private final Arena mapped = Arena.ofShared();
    private final ByteArrayOutputStream indexBytes = new ByteArrayOutputStream();
    private final DataOutputStream index = new DataOutputStream(indexBytes);
    private PanelMemory memory = new PanelMemory();
    private boolean filling = true;
    private long end;

    /**
     * @param file to be
     * @param part empty, this process's own, in the same folder
     * @param lock of that folder, held until the file is whole
     */
    FillingPanels(Path file, Path part, FileChannel lock) throws IOException {
        this.file = file;
        this.part = part;
        this.lock = lock;
        this.channel = FileChannel.open(part, StandardOpenOption.READ, StandardOpenOption.WRITE);
    }

    @Override
    public MemorySegment allocate(long bytes) {
        return memory.allocate(bytes);
    }

    @Override
    public void whole(PanelWeight weight) {
        if (!filling) {
            return;
        }
        try {
            write(weight);
            memory.close();
            memory = new PanelMemory();
        } catch (IOException e) {
            giveUp(e);
        }
    }

    private void write(PanelWeight weight) throws IOException {
        int count = weight.panels.length;
        long[] starts = new long[count];
        long first = align(end);
        for (int i = 0; i < count; i++) {
            starts[i] = align(end);
            write(weight.panels[i].asByteBuffer(), starts[i]);
            end = starts[i] + weight.panels[i].byteSize();
        }
        MemorySegment all = channel.map(FileChannel.MapMode.READ_ONLY, first, Math.max(0, end - first), mapped);
        index.writeInt(weight.rows());
        index.writeInt(weight.columns());
        for (int i = 0; i < count; i++) {
            index.writeByte(FORMATS.indexOf(weight.formats[i]));
            index.writeLong(starts[i]);
            weight.panels[i] = all.asSlice(starts[i] - first, weight.panels[i].byteSize());
        }
    }

    private static long align(long position) {
        return Math.ceilDiv(position, ALIGNMENT) * ALIGNMENT;
    }

    private void write(ByteBuffer bytes, long position) throws IOException {
        for (long at = position; bytes.hasRemaining();) {
            at += channel.write(bytes, at);
        }
    }

    @Override
    public void publish() {
        if (!filling) {
            return;
        }
        try {
            byte[] all = indexBytes.toByteArray();
            var checksum = new CRC32C();
            checksum.update(all);
            write(ByteBuffer.allocate(all.length + PanelFile.TRAILER_BYTES).put(all).putLong(PanelFile.MAGIC)
                    .putLong(end).putInt(all.length).putInt((int) checksum.getValue()).flip(), end);
            // what a disk refuses later would come back as zeros
            channel.force(true);
            if (!SharedPanels.tryLock(channel, /* shared */ true)) {
                throw new IOException("somebody else has locked " + part);
            }
            Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
            filling = false;
            lock.close();
        } catch (IOException e) {
            giveUp(e);
        }
    }

    @Override
    public void keep() {
        if (filling) {
            abandon();
        }
    }

    /** Others need not wait any longer, and the disk gets its room back when nobody maps it. */
    private void giveUp(IOException cause) {
        log.warn("weights are not shared with other processes, each keeps its own: {}", cause.toString());
        abandon();
    }

    private void abandon() {
        filling = false;
        try (lock) {
            Files.deleteIfExists(part);
        } catch (IOException e) {
            log.warn("{} stays: {}", part, e.toString());
        }
    }

    @Override
    public void close() {
        memory.close();
        mapped.close();
        keep();
        try {
            channel.close();
        } catch (IOException e) {
            log.warn("{} cannot be closed: {}", file, e.toString());
        }
    }
}
