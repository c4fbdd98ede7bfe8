package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.ComputeException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The packed weights of a model in a file, which all processes of a host map that compute with it: whoever comes first
 * fills it, who comes meanwhile waits, and all others only read. So the host holds weights once, in its cache of files.
 * Everybody asks for the same pieces in the same order, and finds them at the same places.
 * <pre>
 *   pieces      one behind the other, each aligned
 *   decisions   a byte each, see {@link #decide}
 *   trailer     {@link #MAGIC}, bytes of pieces, bytes of decisions: 8 bytes each, little-endian
 * </pre>
 *
 * <p>Who fills a file holds the folder's lock, and calls it {@code NAME.part} until it is whole: a process that dies
 * while it packs leaves nothing that another one would take for weights. Who uses one has it locked, together with
 * others, and whoever is about to fill one deletes those that nobody has locked: a folder holds what is in use and one
 * file more at most. The system knows of locks by processes, so that of two in one JVM the first to be closed ends it
 * for both.
 */
final class SharedPanels implements AutoCloseable {

    static final String SUFFIX = ".panels";
    static final String PART = ".part";
    private static final String LOCK = "lock";
    private static final long MAGIC = 0x31_6c_65_6e_61_70_70_77L;       // wppanel1
    private static final int TRAILER_BYTES = 3 * Long.BYTES;
    /** Taken from the disk at a time: a write to a mapped page that finds no place there would be a process' end. */
    private static final int STEP_BYTES = 8 << 20;
    private static final long LOOK_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final FileAttribute<?> OWNERS =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

    private static final Logger log = LoggerFactory.getLogger(SharedPanels.class);

    private final Path file;
    private final FileChannel channel;
    /** The folder's; null: the file is filled. */
    private @Nullable FileChannel lock;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment memory;
    private final ByteBuffer decisions;
    private final ByteArrayOutputStream decided = new ByteArrayOutputStream();
    private long used;
    private long written;

    private SharedPanels(Path file, FileChannel channel, @Nullable FileChannel lock, long pieceBytes,
            ByteBuffer decisions) throws IOException {
        this.file = file;
        this.channel = channel;
        this.lock = lock;
        this.decisions = decisions;
        this.memory = channel.map(lock == null ? FileChannel.MapMode.READ_ONLY : FileChannel.MapMode.READ_WRITE, 0,
                pieceBytes, arena);
    }

    /**
     * Waits as long as another process fills a file of that folder.
     * @param file     named by all that its bytes depend on; ends with {@value #SUFFIX}
     * @param capacity bytes of all pieces together at most
     * @throws IOException if there can be no such file
     */
    static SharedPanels open(Path file, long capacity) throws IOException {
        Path folder = Files.createDirectories(file.toAbsolutePath().getParent());
        SharedPanels present = openFilled(file);
        if (present != null) {
            return present;
        }
        FileChannel lock = create(folder.resolve(LOCK));
        try {
            await(lock, file);
            present = openFilled(file);
            if (present != null) {
                lock.close();
                return present;
            }
            deleteUnused(folder);
            FileChannel part = create(part(file));
            try {
                return new SharedPanels(file, part, lock, capacity, ByteBuffer.allocate(0));
            } catch (IOException | RuntimeException e) {
                part.close();
                throw e;
            }
        } catch (IOException | RuntimeException e) {
            lock.close();
            throw e;
        }
    }

    private static void await(FileChannel lock, Path file) throws IOException {
        boolean told = false;
        while (!tryLock(lock, /* shared */ false)) {
            if (!told) {
                log.info("another process of this host packs weights: waiting for it, to share {}", file);
                told = true;
            }
            LockSupport.parkNanos(LOOK_AGAIN_NANOS);
            if (Thread.currentThread().isInterrupted()) {
                throw new IOException("interrupted while another process packs weights");
            }
        }
    }

    private static boolean tryLock(FileChannel channel, boolean shared) throws IOException {
        try {
            return channel.tryLock(0, Long.MAX_VALUE, shared) != null;
        } catch (OverlappingFileLockException heldByThisJvm) {
            return shared;
        }
    }

    private static FileChannel create(Path path) throws IOException {
        Set<OpenOption> options = Set.of(StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE,
                LinkOption.NOFOLLOW_LINKS);
        return FileChannel.open(path, options, OWNERS);
    }

    private static Path part(Path file) {
        return file.resolveSibling(file.getFileName() + PART);
    }

    /** Of what a process leaves that dies, too. */
    private static void deleteUnused(Path folder) throws IOException {
        List<Path> all;
        try (Stream<Path> entries = Files.list(folder)) {
            all = entries.filter(entry -> entry.toString().endsWith(SUFFIX) || entry.toString().endsWith(PART)).toList();
        }
        for (Path one : all) {
            if (Files.isSymbolicLink(one) || isUnused(one)) {
                Files.deleteIfExists(one);
            }
        }
    }

    private static boolean isUnused(Path one) throws IOException {
        try (FileChannel channel = FileChannel.open(one, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS)) {
            return tryLock(channel, /* shared */ false);
        }
    }

    /** @return null if there is none that is whole */
    private static @Nullable SharedPanels openFilled(Path file) throws IOException {
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            return null;
        }
        FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS);
        SharedPanels found = null;
        try {
            // whoever deletes it this moment has it locked
            found = tryLock(channel, /* shared */ true) ? read(file, channel) : null;
            return found;
        } finally {
            if (found == null) {
                channel.close();
            }
        }
    }

    private static @Nullable SharedPanels read(Path file, FileChannel channel) throws IOException {
        long size = channel.size();
        ByteBuffer trailer = bytes(channel, size - TRAILER_BYTES, TRAILER_BYTES);
        if (trailer == null || trailer.getLong() != MAGIC) {
            return null;
        }
        long pieceBytes = trailer.getLong();
        long decisionBytes = trailer.getLong();
        if (pieceBytes < 0 || decisionBytes < 0 || decisionBytes > Integer.MAX_VALUE
                || pieceBytes != size - TRAILER_BYTES - decisionBytes) {
            return null;
        }
        ByteBuffer decisions = bytes(channel, pieceBytes, (int) decisionBytes);
        return decisions == null ? null : new SharedPanels(file, channel, /* lock */ null, pieceBytes, decisions);
    }

    /** @return null if the file is shorter */
    private static @Nullable ByteBuffer bytes(FileChannel channel, long start, int count) throws IOException {
        if (start < 0 || start > channel.size() - count) {
            return null;
        }
        ByteBuffer bytes = ByteBuffer.allocate(count).order(ByteOrder.LITTLE_ENDIAN);
        while (bytes.hasRemaining()) {
            if (channel.read(bytes, start + bytes.position()) < 0) {
                return null;
            }
        }
        return bytes.flip();
    }

    /** Whether everything is there, to be read only. */
    boolean isFilled() {
        return lock == null;
    }

    /**
     * The next piece; zeros, if the file is not filled.
     * @throws IOException      if the disk is full, or the capacity
     * @throws ComputeException if the file ends before
     */
    MemorySegment allocate(long bytes, long alignment) throws IOException {
        long start = Math.ceilDiv(used, alignment) * alignment;
        if (bytes > memory.byteSize() - start) {
            if (isFilled()) {
                throw damaged();
            }
            throw new IOException(file + " is to hold no more than " + memory.byteSize() + " bytes");
        }
        used = start + bytes;
        if (!isFilled()) {
            take(used);
        }
        return memory.asSlice(start, bytes);
    }

    private ComputeException damaged() {
        return new ComputeException(file + " does not hold the weights of this model: delete it, it is made anew");
    }

    /** Has the disk have a place for all that comes before. */
    private void take(long end) throws IOException {
        while (written < end) {
            var zeros = ByteBuffer.allocateDirect((int) Math.min(STEP_BYTES, memory.byteSize() - written));
            while (zeros.hasRemaining()) {
                channel.write(zeros, written + zeros.position());
            }
            written += zeros.limit();
        }
    }

    /**
     * What whoever fills the file finds out from values that the others do not read.
     * @throws ComputeException if he has found out less
     */
    boolean decide(BooleanSupplier question) {
        if (!isFilled()) {
            boolean answer = question.getAsBoolean();
            decided.write(answer ? 1 : 0);
            return answer;
        }
        if (!decisions.hasRemaining()) {
            throw damaged();
        }
        return decisions.get() == 1;
    }

    /** Everything is written: others may have it. Nothing if it was filled before. */
    void complete() throws IOException {
        if (lock == null) {
            return;
        }
        var end = ByteBuffer.allocate(decided.size() + TRAILER_BYTES).order(ByteOrder.LITTLE_ENDIAN)
                .put(decided.toByteArray()).putLong(MAGIC).putLong(used).putLong(decided.size()).flip();
        channel.truncate(used);
        while (end.hasRemaining()) {
            channel.write(end, used + end.position());
        }
        tryLock(channel, /* shared */ true);
        Files.move(part(file), file, StandardCopyOption.ATOMIC_MOVE);
        lock.close();
        lock = null;
    }

    /** Gives up what was not completed; all pieces go. */
    @Override
    public void close() {
        arena.close();
        FileChannel filling = lock;
        try (filling; channel) {
            if (filling != null) {
                Files.deleteIfExists(part(file));
            }
        } catch (IOException e) {
            log.warn("{} stays: {}", part(file), e.toString());
        }
    }
}
