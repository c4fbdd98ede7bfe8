package dev.warmpath.cli.fleet;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/**
 * Of the commands that start and end processes of a state folder, one works at a time: {@code up} until its fleet is
 * ready, {@code restart}, {@code down}. The system takes the lock from whoever dies. What its holder does, and who that
 * is, stands in a file of its own: a program that opens and closes the locked file a second time loses its lock.
 */
public final class StateLock implements AutoCloseable {

    public static final String UP = "up";
    public static final String DOWN = "down";
    private static final String RESTART = "restart:";
    private static final String LOCK = "lock";
    private static final String HOLDER = "lock.holder";
    private static final int LOOK_AGAIN_MILLIS = 50;

    private final Path state;
    private final FileChannel channel;

    /** Who holds it, and what for. */
    private record Holder(String work, long pid, String started) {

        boolean isRunning() {
            return ProcessTable.isOurs(pid, started);
        }
    }

    private StateLock(Path state, FileChannel channel) {
        this.state = state;
        this.channel = channel;
    }

    /** The work of a restart of this process. */
    public static String restart(String id) {
        return RESTART + id;
    }

    /**
     * Takes it, at once.
     *
     * @param work {@link #UP}, {@link #DOWN} or {@link #restart}
     * @throws CommandException saying who has it
     */
    public static StateLock take(Path state, String work) throws IOException {
        StateLock lock = tryTake(state, work);
        if (lock == null) {
            throw new CommandException(refusal(holder(state)));
        }
        return lock;
    }

    /** Takes it for {@link #DOWN}. Who starts something is asked to end first, and ends what it has begun. */
    public static StateLock takeFromWhoStarts(Path state) throws IOException {
        Holder asked = null;
        while (true) {
            StateLock lock = tryTake(state, DOWN);
            if (lock != null) {
                return lock;
            }
            Holder holder = holder(state);
            if (holder != null && !holder.equals(asked) && !holder.work.equals(DOWN) && holder.isRunning()) {
                ProcessHandle.of(holder.pid).ifPresent(ProcessHandle::destroy);
                asked = holder;
            }
            Pause.millis(LOOK_AGAIN_MILLIS);
        }
    }

    /** Whether somebody is at this work now. */
    public static boolean isAt(Path state, String work) {
        Holder holder = holder(state);
        return holder != null && holder.work.equals(work) && holder.isRunning();
    }

    private static @Nullable StateLock tryTake(Path state, String work) throws IOException {
        FileChannel channel = FileChannel.open(state.resolve(LOCK), StandardOpenOption.CREATE,
                StandardOpenOption.WRITE);
        FileLock lock = channel.tryLock();
        if (lock == null) {
            channel.close();
            return null;
        }
        long self = ProcessHandle.current().pid();
        Path written = state.resolve(HOLDER + ".new");
        Files.writeString(written, work + " " + self + " " + ProcessTable.startedAt(self));
        Files.move(written, state.resolve(HOLDER), StandardCopyOption.ATOMIC_MOVE);
        return new StateLock(state, channel);
    }

    /** @return null if nobody has told */
    private static @Nullable Holder holder(Path state) {
        try {
            String[] words = Files.readString(state.resolve(HOLDER)).split(" ");
            return words.length == 3 ? new Holder(words[0], Long.parseLong(words[1]), words[2]) : null;
        } catch (IOException | NumberFormatException e) {
            return null;
        }
    }

    private static String refusal(@Nullable Holder holder) {
        if (holder == null) {
            return "another ./warmpath is starting or stopping processes; wait until it has ended";
        }
        return switch (holder.work) {
            case UP -> "a fleet is being started by process " + holder.pid + "; wait until it is ready, or end it by "
                    + "./warmpath down";
            case DOWN -> "the fleet is being stopped by process " + holder.pid + "; wait until it is";
            default -> holder.work.substring(holder.work.indexOf(':') + 1) + " is being restarted by process "
                    + holder.pid + "; wait until it is ready";
        };
    }

    /** The next one may take it. */
    @Override
    public void close() throws IOException {
        Files.deleteIfExists(state.resolve(HOLDER));
        channel.close();
    }
}
