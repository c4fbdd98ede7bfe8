package dev.warmpath.benchmarks.gpu;

import dev.warmpath.worker.compute.cuda.CudaBackend;
import java.util.Map;
import java.util.function.Consumer;

/** Measures the two ceilings of this card before anything is held against them. */
final class YardstickRun {

    private static final double FLOPS_PER_PRODUCT = 2;

    private final CudaBackend backend;
    private final Sizes sizes;

    YardstickRun(CudaBackend backend, Sizes sizes) {
        this.backend = backend;
        this.sizes = sizes;
    }

    Yardsticks measure(Consumer<Row> rows) {
        Times copy = Times.of(backend.timer().copyNanos(sizes.copyBytes(), sizes.repetitions()));
        double bytesPerSecond = copy.perSecond(2.0 * sizes.copyBytes());
        rows.accept(Goal.none("copy on the device, %.1f GB read and as many written".formatted(sizes.copyBytes() / 1e9))
                .unjudged("%.0f GB/s".formatted(bytesPerSecond / 1e9), "a yardstick", Map.of("copy", copy)));
        int side = sizes.matmulSide();
        Times product = product(side);
        double flopsPerSecond = product.perSecond(FLOPS_PER_PRODUCT * side * side * side);
        rows.accept(Goal.none("bf16 product by cuBLASLt, %d cubed".formatted(side))
                .unjudged("%.0f TFLOP/s".formatted(flopsPerSecond / 1e12), "a yardstick", Map.of("product", product)));
        return new Yardsticks(bytesPerSecond, flopsPerSecond);
    }

    private Times product(int side) {
        var matrices = new Matrices(backend, side, side, side, backend.activationType());
        return Times.of(backend.timer().nanos(() -> matrices.multiply(side), sizes.warmUps(), sizes.repetitions()));
    }
}
