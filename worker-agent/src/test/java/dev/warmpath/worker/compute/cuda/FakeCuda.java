package dev.warmpath.worker.compute.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The emulated device: a shared library with the driver API, cuBLASLt and our kernels, compiled for the host from
 * {@code src/test/cuda}. What it proves and what it cannot stands in {@code emulator.h} and {@code fake_driver.cpp}.
 * There is one in a process; every test begins with {@link #reset}.
 */
@SuppressWarnings("restricted")  // native calls are what it is for
final class FakeCuda {

    private static final Path SOURCES = Path.of("src/test/cuda");
    private static @Nullable FakeCuda opened;

    private final Path library;
    private final SymbolLookup symbols;
    private final Map<String, MethodHandle> handles = new ConcurrentHashMap<>();

    private FakeCuda(Path library) {
        this.library = library;
        this.symbols = SymbolLookup.libraryLookup(library, Arena.global());
    }

    /** Why it cannot be built here: no compiler; null if it can. */
    static @Nullable String missing() {
        String compiler = compiler();
        boolean isThere = Stream.of(System.getenv("PATH").split(":"))
                .anyMatch(folder -> Files.isExecutable(Path.of(folder).resolve(compiler)));
        return isThere ? null : "EMULATED DEVICE LEFT OUT: no " + compiler + " on the PATH; install g++ 10 or newer, "
                + "or name a C++17 compiler in CXX: nothing of the CUDA runner is tested without";
    }

    private static String compiler() {
        return System.getenv().getOrDefault("CXX", "g++");
    }

    /** Builds the library if a source changed, and resets it; for tests that are {@link OnEmulatedDevice}. */
    static synchronized FakeCuda open() {
        if (opened == null) {
            opened = new FakeCuda(build());
        }
        opened.reset();
        return opened;
    }

    /** As it is, not reset. */
    static synchronized FakeCuda opened() {
        return Objects.requireNonNull(opened);
    }

    /** Both the driver's library and cuBLASLt's. */
    Path library() {
        return library;
    }

    CudaSettings settings() {
        return new CudaSettings("0", library, library);
    }

    /** What {@code cuModuleLoadData} takes for a fatbin of all kernels: its magic number, little-endian, then zeros. */
    static MemorySegment image() {
        return Arena.ofAuto().allocate(16, 64).copyFrom(
                MemorySegment.ofArray(new byte[] {0x50, (byte) 0xED, 0x55, (byte) 0xBA}));
    }

    CudaDevice openDevice() {
        try {
            return CudaDevice.open(settings(), image());
        } catch (CudaUnavailableException refused) {
            throw new AssertionError("the emulated device does not open", refused);
        }
    }

    /** Frees everything, forgets calls and failures; one device again, of compute capability 9.0 with 1 GiB. */
    void reset() {
        call(JAVA_INT, "fake_reset");
    }

    /** @param driverVersion 13000 for CUDA 13.0 */
    void devices(int count, int major, int minor, long bytes, int driverVersion) {
        call(JAVA_INT, "fake_devices", count, major, minor, bytes, driverVersion);
    }

    /** 8 unless said: few, for idle blocks take time, too. */
    void multiprocessors(int count) {
        call(JAVA_INT, "fake_multiprocessors", count);
    }

    /** From which compute capability on there are kernels in images, 90 for 9.0; 80 unless said. */
    void kernelsFrom(int computeCapability) {
        call(JAVA_INT, "fake_architecture", computeCapability);
    }

    /**
     * Lets the {@code nth} call from now of a function fail, 1 is the next; it does nothing then.
     * @param code if it is one that loses the device, all later calls fail with it, too
     */
    void fail(String function, int nth, int code) {
        call(JAVA_INT, "fake_fail", function, nth, code);
    }

    /** Calls of a function since the reset, by its exported name. */
    int calls(String function) {
        return (int) call(JAVA_INT, "fake_calls", function);
    }

    /** How often a kernel ran since the reset, in graphs, too. */
    int kernelCalls(String kernel) {
        return (int) call(JAVA_INT, "fake_kernel_calls", kernel);
    }

    /** What share of L1 and shared memory a kernel prefers to have as the latter, in percent; -1 if it has not said. */
    int sharedPercent(String kernel) {
        return (int) call(JAVA_INT, "fake_shared_percent", kernel);
    }

    /** @param kind device, pinned, stream, event, module, graph, graphExec, context (retained), cublas (all objects) */
    int live(String kind) {
        int count = (int) call(JAVA_INT, "fake_live", kind);
        if (count < 0) {
            throw new IllegalArgumentException("no such kind: " + kind);
        }
        return count;
    }

    /** Draws another order of warps and lanes for the launches from now on. */
    void schedule(long seed) {
        call(JAVA_INT, "fake_schedule", seed);
    }

    /** Why the last call was refused or a kernel failed; empty if that did not happen since the reset. */
    String complaint() {
        return text((MemorySegment) call(ADDRESS, "fake_complaint"));
    }

    /** Every kernel that the library has, those of the emulator's own tests ({@code test_…}) included. */
    List<String> kernels() {
        var names = new ArrayList<String>();
        for (int index = 0;; index++) {
            var name = (MemorySegment) call(ADDRESS, "fake_kernel_name", index);
            if (name.equals(MemorySegment.NULL)) {
                return names;
            }
            names.add(text(name));
        }
    }

    /**
     * Calls an exported function.
     * @param result JAVA_INT, also for functions that return nothing, or ADDRESS
     * @param arguments Byte, Integer, Long, String or MemorySegment, as in its C signature
     */
    Object call(ValueLayout result, String function, Object... arguments) {
        try (Arena arena = Arena.ofConfined()) {
            Object[] values = Stream.of(arguments)
                    .map(argument -> argument instanceof String text ? arena.allocateFrom(text) : argument).toArray();
            MethodHandle handle = handles.computeIfAbsent(function, _ -> Linker.nativeLinker().downcallHandle(
                    symbols.findOrThrow(function), FunctionDescriptor.of(result,
                            Stream.of(values).map(FakeCuda::layout).toArray(MemoryLayout[]::new))));
            return handle.invokeWithArguments(values);
        } catch (Throwable thrown) {
            throw new AssertionError(function, thrown);
        }
    }

    private static MemoryLayout layout(Object value) {
        return switch (value) {
            case Byte _ -> JAVA_BYTE;
            case Integer _ -> JAVA_INT;
            case Long _ -> JAVA_LONG;
            case MemorySegment _ -> ADDRESS;
            default -> throw new IllegalArgumentException("no argument of C: " + value);
        };
    }

    private static String text(MemorySegment pointer) {
        return pointer.reinterpret(Long.MAX_VALUE).getString(0);
    }

    private static Path build() {
        try {
            Path library = Files.createDirectories(Path.of("target/fake-cuda")).resolve("libfakecuda.so");
            var process = new ProcessBuilder("bash", SOURCES.resolve("build.sh").toString(), library.toString(),
                    compiler()).redirectErrorStream(true).start();
            String output = new String(process.getInputStream().readAllBytes());
            if (process.waitFor() != 0) {
                throw new AssertionError("the emulated device does not compile:\n" + output);
            }
            return library.toAbsolutePath();
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        } catch (InterruptedException interrupted) {
            throw new AssertionError(interrupted);
        }
    }
}
