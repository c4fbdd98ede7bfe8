package dev.warmpath.worker.compute.cpu;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A folder with files of packed weights, which all processes of a host map that compute with them: whoever comes first
 * fills a file, who comes meanwhile waits, and all others only read. So the host holds weights once, in its cache of
 * files.
 *
 * <p>Who fills a file holds the folder's lock until the file has its name, which it gets when it is whole and on the
 * disk: a process that dies while it packs leaves nothing that another one would take for weights. Who uses a file has
 * that locked, together with others, and whoever is about to fill one deletes those that nobody has locked: a folder
 * holds what is in use and one file more. Nothing is deleted or read but what is named as this class names files.
 *
 * <p>The system knows of locks by processes: of two users in one JVM, the first to be closed ends it for both.
 */
final class SharedPanels {

    private static final String SUFFIX = ".panels";
    private static final String PART = ".part";
    private static final String LOCK = "panels.lock";
    /** What the weights follow from, width of vectors; behind that, if it is not whole, what makes it one process's. */
    private static final Pattern OURS = Pattern.compile("[0-9a-f]{64}-\\d+\\.panels(\\.\\d+\\.part)?");
    private static final long LOOK_AGAIN_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final String OWNER = "unix:uid";
    private static final FileAttribute<?> OWNERS =
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"));

    private static final Logger log = LoggerFactory.getLogger(SharedPanels.class);

    private SharedPanels() {}

    /**
     * Waits as long as another process fills a file of that folder.
     * @param name 64 hexadecimal digits, a hyphen and a number
     * @throws IOException if there can be no such file, or it is another user's
     */
    static PanelPlace open(Path folder, String name) throws IOException {
        Path file = folder.resolve(name + SUFFIX);
        if (!OURS.matcher(file.getFileName().toString()).matches()) {
            throw new IllegalArgumentException(name + " is no name of packed weights");
        }
        Files.createDirectories(folder);
        PanelPlace present = openFilled(file);
        if (present != null) {
            return present;
        }
        FileChannel lock = FileChannel.open(folder.resolve(LOCK), creating(), OWNERS);
        FillingPanels filling = null;
        try {
            await(lock, file);
            present = openFilled(file);
            if (present != null) {
                return present;
            }
            deleteUnused(folder);
            Path part = Files.createTempFile(folder, file.getFileName() + ".", PART, OWNERS);
            filling = new FillingPanels(file, part, lock);
            return filling;
        } finally {
            if (filling == null) {
                lock.close();
            }
        }
    }

    private static Set<OpenOption> creating() {
        return Set.of(StandardOpenOption.CREATE, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
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

    /** @return false if another process has a lock that excludes this one */
    static boolean tryLock(FileChannel channel, boolean shared) throws IOException {
        try {
            return channel.tryLock(0, Long.MAX_VALUE, shared) != null;
        } catch (OverlappingFileLockException heldByThisJvm) {
            return shared;
        }
    }

    /** @return null if there is none that is whole */
    private static @Nullable FilledPanels openFilled(Path file) throws IOException {
        if (!Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)) {
            return null;
        }
        if (!isOurs(file)) {
            throw new IOException(file + " belongs to another user");
        }
        FileChannel channel;
        try {
            channel = FileChannel.open(file, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS);
        } catch (NoSuchFileException deletedThisMoment) {
            return null;
        }
        FilledPanels found = null;
        try {
            // one that is deleted this moment is locked by whoever does it, or no longer there to be found by others
            found = tryLock(channel, /* shared */ true) && Files.exists(file) ? FilledPanels.read(file, channel) : null;
            return found;
        } finally {
            if (found == null) {
                channel.close();
            }
        }
    }

    private static boolean isOurs(Path file) throws IOException {
        return Files.getAttribute(file, OWNER, LinkOption.NOFOLLOW_LINKS)
                .equals(Files.getAttribute(Path.of("/proc/self"), OWNER));
    }

    /** Of what processes leave that die, too: nobody fills a file while this one holds the folder's lock. */
    private static void deleteUnused(Path folder) throws IOException {
        List<Path> all = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(folder,
                entry -> OURS.matcher(entry.getFileName().toString()).matches())) {
            entries.forEach(all::add);
        }
        for (Path one : all) {
            try {
                if (Files.isRegularFile(one, LinkOption.NOFOLLOW_LINKS) && isOurs(one)) {
                    deleteIfUnused(one);
                }
            } catch (IOException e) {
                log.info("{} stays: {}", one, e.toString());
            }
        }
    }

    private static void deleteIfUnused(Path one) throws IOException {
        try (FileChannel channel = FileChannel.open(one, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS)) {
            if (tryLock(channel, /* shared */ false)) {
                Files.deleteIfExists(one);
            }
        }
    }
}
