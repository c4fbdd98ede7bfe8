package dev.warmpath.benchmarks.compute;

import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.compute.WeightFormat;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Microseconds of one product x · Wᵀ, W [outputs, {@value #COLUMNS}], on one thread, from the caches (4,096 outputs, as
 * far as the machine's last cache holds 34 MB) and from memory (65,536): by the vector backend, and
 * by the plain loops of {@code benchmarks/compute/products.c}, which {@code cc} compiles for this machine. One row is
 * what a token of one stream costs, more are those of a batch or a prompt. Run from the repository's root.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 1, jvmArgsAppend = {"--add-modules", "jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED"})
public class WeightProductBenchmark {

    private static final int COLUMNS = 2048;
    private static final Path SOURCE = Path.of("benchmarks/compute/products.c");

    @Param({"F32", "BF16", "F16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q4_K", "Q6_K"})
    public WeightFormat format = WeightFormat.F32;
    @Param({"1", "4", "64"})
    public int rows = 1;
    @Param({"4096", "65536"})
    public int outputs = 4096;

    private final Arena arena = Arena.ofShared();
    private final VectorBackend backend = new VectorBackend(1);
    private Tensor weight = backend.allocateWeight(0, 0);
    private Tensor input = weight;
    private Tensor output = weight;
    private MemorySegment stored = MemorySegment.NULL;
    private MemorySegment x = MemorySegment.NULL;
    private MemorySegment y = MemorySegment.NULL;
    private @Nullable MethodHandle plain;

    @Setup
    public void prepare() throws IOException, InterruptedException {
        byte[] bytes = new byte[(int) format.bytes((long) outputs * COLUMNS)];
        new Random(1).nextBytes(bytes);
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] &= 0x3B;                                          // no number too large, or none at all
        }
        for (int i = format.blockBytes() - 1; !format.hasBlocks() && i < bytes.length; i += format.blockBytes()) {
            bytes[i] = 0x3B;                                           // nor one too small, which takes much longer
        }
        stored = arena.allocate(bytes.length, 64).copyFrom(MemorySegment.ofArray(bytes));
        weight = backend.allocateWeight(outputs, COLUMNS);
        backend.upload(weight, 0, outputs, format, stored);
        x = arena.allocate(ValueLayout.JAVA_FLOAT, (long) rows * COLUMNS);
        for (long i = 0; i < (long) rows * COLUMNS; i++) {
            x.setAtIndex(ValueLayout.JAVA_FLOAT, i, (float) Math.sin(i));
        }
        y = arena.allocate(ValueLayout.JAVA_FLOAT, (long) rows * outputs);
        input = backend.allocate(DataType.F32, rows, COLUMNS);
        output = backend.allocate(DataType.F32, rows, outputs);
        backend.write(input, x);
        plain = compiled();
    }

    /** @return null: C has none for this format */
    @SuppressWarnings("restricted")   // the signature is that of PRODUCT in the source
    private @Nullable MethodHandle compiled() throws IOException, InterruptedException {
        Path library = Files.createTempFile("products", ".so");
        int status = new ProcessBuilder("cc", "-O3", "-march=native", "-ffast-math", "-shared", "-fPIC",
                "-o", library.toString(), SOURCE.toString()).inheritIO().start().waitFor();
        if (status != 0) {
            throw new IOException("cc could not compile " + SOURCE);
        }
        var function = FunctionDescriptor.ofVoid(ValueLayout.ADDRESS, ValueLayout.ADDRESS, ValueLayout.ADDRESS,
                ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT);
        MethodHandle found = SymbolLookup.libraryLookup(library, arena)
                .find("product_" + format.name().toLowerCase(Locale.ROOT))
                .map(address -> Linker.nativeLinker().downcallHandle(address, function)).orElse(null);
        Files.delete(library);
        return found;
    }

    @Benchmark
    public Tensor vector() {
        backend.matmul(input, weight, output, rows);
        return output;
    }

    @Benchmark
    public MemorySegment plainC() throws Throwable {
        if (plain == null) {
            throw new UnsupportedOperationException("products.c has no loop for " + format);
        }
        plain.invokeExact(x, stored, y, rows, COLUMNS, outputs);
        return y;
    }

    @TearDown
    public void close() {
        backend.close();
        arena.close();
    }
}
