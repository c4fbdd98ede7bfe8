package dev.warmpath.worker.engine;

import dev.warmpath.worker.compute.BlockMapping;
import dev.warmpath.worker.compute.Completion;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.compute.CopyDirection;
import dev.warmpath.worker.compute.SamplingInputs;
import dev.warmpath.worker.compute.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A real backend of which every row of logits is shown to a watcher before a token is drawn from it, named by the key
 * and the counter of its generator. On demand a step fails as badly as one may: what it should have stored and the
 * blocks that should have been copied for it are not there, and {@code await} says so.
 */
final class WatchedBackend {

    /** Hears of each sampled row. */
    interface Watcher {

        /**
         * Looks at a row.
         * @param seed    key of the sequence's generator
         * @param counter index that the drawn token will have in its sequence
         * @param logits  float32 [vocabulary]; valid during the call
         */
        void onRow(long seed, int counter, MemorySegment logits);
    }

    private static final Set<String> LOST_OPERATIONS = Set.of("rotateAndStoreKv", "copyBlocks");

    private final ComputeBackend real;
    private final Watcher watcher;
    private boolean failing;
    private boolean waitingForSwap;
    private @Nullable Completion failed;
    private long copiesWithinDevice;
    private long feedingSteps;

    WatchedBackend(ComputeBackend real, Watcher watcher) {
        this.real = real;
        this.watcher = watcher;
    }

    /** The next step stores nothing and fails. */
    void failNextStep() {
        failing = true;
    }

    /** So does the next step before which blocks move to swap space. */
    void failNextSwap() {
        waitingForSwap = true;
    }

    long copiesWithinDevice() {
        return copiesWithinDevice;
    }

    /** Steps that took tokens which the step before had just drawn. */
    long feedingSteps() {
        return feedingSteps;
    }

    /** The body to load the model on. */
    ComputeBackend watched() {
        return (ComputeBackend) Proxy.newProxyInstance(WatchedBackend.class.getClassLoader(),
                new Class<?>[] {ComputeBackend.class}, (_, method, arguments) -> call(method, arguments));
    }

    private @Nullable Object call(Method method, Object[] arguments) throws Throwable {
        switch (method.getName()) {
            case "sample" -> show((Tensor) arguments[0], (SamplingInputs) arguments[1], (int) arguments[3]);
            case "sampleAdjusted" -> show((Tensor) arguments[0], (SamplingInputs) arguments[1], (int) arguments[5]);
            case "feedTokens" -> feedingSteps++;
            case "copyBlocks" -> see((BlockMapping) arguments[1], (CopyDirection) arguments[2]);
            default -> { }
        }
        boolean isLost = failing && failed == null && LOST_OPERATIONS.contains(method.getName());
        Object result = isLost ? null : invoke(method, arguments);
        if (failing && failed == null && result instanceof Completion completion) {
            failed = completion;
        }
        if (method.getName().equals("await") && arguments[0].equals(failed)) {
            failing = false;
            failed = null;
            throw new ComputeException("as the mix wants it");
        }
        return result;
    }

    private void see(BlockMapping mapping, CopyDirection direction) {
        if (direction == CopyDirection.DEVICE_TO_DEVICE) {
            copiesWithinDevice += mapping.count();
        }
        if (direction == CopyDirection.DEVICE_TO_HOST && waitingForSwap) {
            waitingForSwap = false;
            failing = true;
        }
    }

    private @Nullable Object invoke(Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(real, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    /** From a failing step until it has been awaited, the steps in flight compute nonsense: nobody is to see it. */
    private void show(Tensor logits, SamplingInputs inputs, int rowCount) {
        if (failing) {
            return;
        }
        try (var arena = Arena.ofConfined()) {
            long rowBytes = 4L * logits.columns();
            var rows = arena.allocate(rowCount * rowBytes, Float.BYTES);
            var seeds = arena.allocate(ValueLayout.JAVA_LONG, rowCount);
            var counters = arena.allocate(ValueLayout.JAVA_INT, rowCount);
            real.read(logits, rowCount, rows);
            real.read(inputs.seeds(), rowCount, seeds);
            real.read(inputs.counters(), rowCount, counters);
            for (int row = 0; row < rowCount; row++) {
                watcher.onRow(seeds.getAtIndex(ValueLayout.JAVA_LONG, row),
                        counters.getAtIndex(ValueLayout.JAVA_INT, row), rows.asSlice(row * rowBytes, rowBytes));
            }
        }
    }
}
