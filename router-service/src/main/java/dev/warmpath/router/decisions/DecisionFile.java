package dev.warmpath.router.decisions;

import dev.warmpath.protocol.process.ProcessEnd;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.json.JsonMapper;

/**
 * Ended requests as lines of JSON, written by a thread of its own: a disk that is slow or full costs lines, which are
 * counted, and nobody's time. The file is put aside as {@code <file>.1} when it has reached its size; where that is not
 * allowed it is begun anew. A line that was half written when the disk was full is cut off by the one who wrote it,
 * under the file's lock: what is in a file that is opened, maybe by another router meanwhile, is never cut.
 */
final class DecisionFile implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(DecisionFile.class);
    private static final int MAX_QUEUED = 8_192;
    private static final int MAX_BATCH = 256;
    private static final Duration LONGEST_CLOSE = Duration.ofSeconds(5);

    private final Path file;
    private final long maxBytes;
    private final JsonMapper json = JsonMapper.builder().build();
    private final BlockingQueue<RequestRecord> queue = new ArrayBlockingQueue<>(MAX_QUEUED);
    private final IntConsumer discarded;
    private final Thread writer;
    private volatile boolean closing;
    /** The file's lock is held from its opening to its closing. */
    private @Nullable FileChannel channel;
    /** Of what is in the file, up to the last whole line. */
    private long bytes;
    /** What was half written could not be cut off. */
    private boolean endsInHalfALine;
    /** Of the batch that is being written. */
    private int linesLeft;
    private boolean isBroken;

    /**
     * @param discarded told how many requests were lost, on any thread
     * @throws IllegalArgumentException if the file cannot be written, so that a wrong path is known at the start
     */
    DecisionFile(Path file, long maxBytes, IntConsumer discarded) {
        this.file = file;
        this.maxBytes = maxBytes;
        this.discarded = discarded;
        try {
            open();
        } catch (IOException e) {
            throw new IllegalArgumentException("warmpath.decisions.file cannot be written: " + e, e);
        }
        this.writer = Thread.ofPlatform().daemon().name("decisions-file").start(this::writeOnAndOn);
    }

    /** Does not wait: what finds no room is discarded. */
    void offer(RequestRecord request) {
        if (!queue.offer(request)) {
            discarded.accept(1);
        }
    }

    /** Writes what is still queued, if that takes no longer than a few seconds. */
    @Override
    public void close() {
        closing = true;
        try {
            writer.join(LONGEST_CLOSE);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void writeOnAndOn() {
        List<RequestRecord> batch = new ArrayList<>(MAX_BATCH);
        while (true) {
            try {
                RequestRecord first = queue.poll(100, TimeUnit.MILLISECONDS);
                if (first != null) {
                    batch.add(first);
                    queue.drainTo(batch, MAX_BATCH - 1);
                    write(batch);
                } else if (closing) {
                    closeFile();
                    return;
                }
            } catch (InterruptedException e) {
                return;
            } catch (IOException | RuntimeException | Error e) {
                ProcessEnd.rethrowIfFatal(e);
                broken(e);
            }
            batch.clear();
        }
    }

    private void write(List<RequestRecord> batch) throws IOException {
        linesLeft = batch.size();
        for (RequestRecord request : batch) {
            byte[] line = (json.writeValueAsString(RequestView.of(request)) + '\n').getBytes(StandardCharsets.UTF_8);
            FileChannel to = channel == null ? open() : channel;
            if (bytes > 0 && bytes + line.length > maxBytes) {
                to = putAside(to);
            }
            append(to, line);
            linesLeft--;
        }
        if (isBroken) {
            isBroken = false;
            log.info("Decisions are written to {} again", file);
        }
    }

    private void append(FileChannel to, byte[] line) throws IOException {
        ByteBuffer left = ByteBuffer.wrap(line);
        while (left.hasRemaining()) {
            to.write(left);
        }
        bytes += line.length;
    }

    /** @return an empty one in its place */
    private FileChannel putAside(FileChannel full) throws IOException {
        try {
            Files.move(file, file.resolveSibling(file.getFileName() + ".1"), StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            log.warn("{} cannot be put aside, it is begun anew: {}", file, e.toString());
            full.truncate(0);
            bytes = 0;
            return full;
        }
        closeFile();
        return open();
    }

    /** Says so once, not for every batch that follows. */
    private void broken(Throwable e) {
        discarded.accept(linesLeft);
        linesLeft = 0;
        if (!isBroken) {
            isBroken = true;
            log.warn("Decisions cannot be written to {}, those of now are lost: {}", file, e.toString());
        }
        cutHalfALine();
        try {
            closeFile();
        } catch (IOException again) {
            log.debug("closing {}", file, again);
        }
    }

    private void cutHalfALine() {
        if (channel != null) {
            try {
                channel.truncate(bytes);
            } catch (IOException e) {
                endsInHalfALine = true;
                log.debug("cutting {}", file, e);
            }
        }
    }

    /** For going on behind all that is there when the lock is held. */
    private FileChannel open() throws IOException {
        FileChannel opened = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        if (isTaken(opened)) {
            opened.close();
            throw new IOException(file + " is written by another router, and each needs its own");
        }
        channel = opened;
        bytes = opened.size();
        opened.position(bytes);
        if (endsInHalfALine) {
            append(opened, new byte[] {'\n'});
            endsInHalfALine = false;
        }
        return opened;
    }

    /** Where the file system knows no locks, nobody can tell. The lock ends with the channel. */
    private boolean isTaken(FileChannel opened) {
        try {
            return opened.tryLock() == null;
        } catch (OverlappingFileLockException e) {
            return true;
        } catch (IOException e) {
            log.debug("{} cannot be locked", file, e);
            return false;
        }
    }

    private void closeFile() throws IOException {
        FileChannel last = channel;
        channel = null;
        if (last != null) {
            last.close();
        }
    }
}
