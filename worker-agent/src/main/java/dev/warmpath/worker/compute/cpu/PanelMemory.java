package dev.warmpath.worker.compute.cpu;

import dev.warmpath.worker.compute.ComputeException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Memory for weights outside of the heap, handed out piece after piece from large chunks: neighbours in time are
 * neighbours in space. All of it goes when it is closed.
 *
 * <p>On Linux the chunks ask for huge pages: weights are read through once a token, and a page of 4 KB ends both what a
 * processor fetches ahead and what its address buffers reach. Elsewhere they are what the JVM allocates.
 */
final class PanelMemory implements PanelPlace {

    private static final long CHUNK_BYTES = 64L << 20;
    private static final long PAGE_BYTES = 2L << 20;

    private final Arena arena = Arena.ofShared();
    private MemorySegment chunk = MemorySegment.NULL;
    private long used;

    static boolean isOnLinux() {
        return Linux.FOUND != null;
    }

    /** @throws ComputeException if the system has no more */
    @Override
    public MemorySegment allocate(long bytes) {
        long start = Math.ceilDiv(used, ALIGNMENT) * ALIGNMENT;
        if (chunk.byteSize() - start < bytes) {
            long size = Math.ceilDiv(Math.max(bytes, CHUNK_BYTES), PAGE_BYTES) * PAGE_BYTES;
            chunk = Linux.FOUND == null ? arena.allocate(size, PAGE_BYTES) : Linux.FOUND.map(size, arena);
            start = 0;
        }
        used = start + bytes;
        return chunk.asSlice(start, bytes);
    }

    @Override
    public void close() {
        arena.close();
    }

    /** Three functions of Linux's C library; numbers as its headers give them on x86-64 and ARM64. */
    private record Linux(MethodHandle mmap, MethodHandle madvise, MethodHandle munmap) {

        private static final int PROT_READ_WRITE = 0x1 | 0x2;
        private static final int MAP_PRIVATE_ANONYMOUS = 0x02 | 0x20;
        private static final int MADV_HUGEPAGE = 14;
        private static final int NO_FILE = -1;
        private static final long MAP_FAILED = -1;

        static final @Nullable Linux FOUND = find();

        private static @Nullable Linux find() {
            if (!System.getProperty("os.name").equals("Linux")
                    || !List.of("amd64", "aarch64").contains(System.getProperty("os.arch"))) {
                return null;
            }
            return new Linux(
                    function("mmap", ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG,
                            ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG),
                    function("madvise", ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG,
                            ValueLayout.JAVA_INT),
                    function("munmap", ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
        }

        @SuppressWarnings("restricted")   // signatures are copied from the headers
        private static MethodHandle function(String name, ValueLayout result, ValueLayout... parameters) {
            return Linker.nativeLinker().downcallHandle(
                    Linker.nativeLinker().defaultLookup().findOrThrow(name), FunctionDescriptor.of(result, parameters));
        }

        /** Pages that come zeroed when they are first touched, and go with the arena. */
        @SuppressWarnings("restricted")   // address and size are what mmap has just given
        MemorySegment map(long bytes, Arena arena) {
            try {
                long address = (long) mmap.invokeExact(0L, bytes, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, NO_FILE, 0L);
                if (address == MAP_FAILED) {
                    throw new ComputeException(String.format(Locale.ROOT, "the system gives no %,d bytes for weights "
                            + "outside of the heap: it has no more memory, or this process may take no more", bytes));
                }
                // a refusal, such as of a kernel without huge pages, leaves small ones
                int _ = (int) madvise.invokeExact(address, bytes, MADV_HUGEPAGE);
                return MemorySegment.ofAddress(address).reinterpret(bytes, arena, this::unmap);
            } catch (Throwable thrown) {
                throw notOfNative(thrown);
            }
        }

        private void unmap(MemorySegment segment) {
            try {
                int _ = (int) munmap.invokeExact(segment.address(), segment.byteSize());
            } catch (Throwable thrown) {
                throw notOfNative(thrown);
            }
        }

        /** What a handle throws never comes from the C side. */
        private static RuntimeException notOfNative(Throwable thrown) {
            return switch (thrown) {
                case RuntimeException ours -> ours;
                case Error error -> throw error;
                default -> new IllegalStateException(thrown);
            };
        }
    }
}
