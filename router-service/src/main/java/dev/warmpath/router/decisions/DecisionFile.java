package dev.warmpath.router.decisions;

import dev.warmpath.protocol.process.ProcessEnd;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.Channels;
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
 * allowed it is begun anew. A line that was half written when the disk was full is cut off, so no two may write to one.
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
    private @Nullable OutputStream out;
    /** Whole lines in the file; more may be in it after a failure. */
    private long bytes;
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
            open(Files.exists(file) ? Files.size(file) : 0);
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
            if (bytes > 0 && bytes + line.length > maxBytes) {
                putAside();
            }
            OutputStream to = out == null ? open(bytes) : out;
            to.write(line);
            bytes += line.length;
            linesLeft--;
        }
        if (isBroken) {
            isBroken = false;
            log.info("Decisions are written to {} again", file);
        }
    }

    private void putAside() throws IOException {
        closeFile();
        try {
            Files.move(file, file.resolveSibling(file.getFileName() + ".1"), StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException e) {
            log.warn("{} cannot be put aside, it is begun anew: {}", file, e.toString());
        }
        bytes = 0;
    }

    /** Says so once, not for every batch that follows. */
    private void broken(Throwable e) {
        discarded.accept(linesLeft);
        linesLeft = 0;
        if (!isBroken) {
            isBroken = true;
            log.warn("Decisions cannot be written to {}, those of now are lost: {}", file, e.toString());
        }
        try {
            closeFile();
        } catch (IOException again) {
            log.debug("closing {}", file, again);
        }
    }

    /** @param length what is behind it is cut off */
    private OutputStream open(long length) throws IOException {
        FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        if (isTaken(channel)) {
            channel.close();
            throw new IOException(file + " is written by another router, and each needs its own");
        }
        if (channel.size() > length) {
            channel.truncate(length);
        }
        channel.position(length);
        bytes = length;
        out = Channels.newOutputStream(channel);
        return out;
    }

    /** Where the file system knows no locks, nobody can tell. The lock ends with the channel. */
    private boolean isTaken(FileChannel channel) {
        try {
            return channel.tryLock() == null;
        } catch (OverlappingFileLockException e) {
            return true;
        } catch (IOException e) {
            log.debug("{} cannot be locked", file, e);
            return false;
        }
    }

    private void closeFile() throws IOException {
        OutputStream last = out;
        out = null;
        if (last != null) {
            last.close();
        }
    }
}
