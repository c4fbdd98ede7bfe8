package dev.warmpath.benchmarks.gpu;

import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.DeviceLostException;
import dev.warmpath.worker.compute.cuda.CudaBackend;
import dev.warmpath.worker.compute.cuda.CudaUnavailableException;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Times the CUDA runner on a card against what the card allows, and prints one table, each row as soon as it is there.
 * Attention, products and swaps go through the compute seam, as a model's do; kernels are timed by the card's own
 * clock, replayed from a graph with a cold L2, and the figure is the median.
 * <p>{@code benchmarks/gpu/run.sh} calls it; {@code --quick} runs the same program on an emulated device in seconds.
 */
public final class GpuTimings {

    private final Options options;
    private final Sizes sizes;
    private final Report report;
    private final long deadline;

    private GpuTimings(Options options) {
        this.options = options;
        this.sizes = options.quick() ? Sizes.quick() : Sizes.full();
        this.report = new Report(options.output());
        this.deadline = System.nanoTime() + options.budget().toNanos();
    }

    /** Exits with 0 if every case ran, 1 if one did not, 2 if there is no device. */
    public static void main(String[] arguments) throws IOException, InterruptedException {
        System.exit(run(arguments));
    }

    static int run(String... arguments) throws IOException, InterruptedException {
        var options = Options.parse(arguments);
        Files.createDirectories(options.output());
        return new GpuTimings(options).run();
    }

    private List<GpuCase> cases() {
        List<GpuCase> cases = new ArrayList<>();
        sizes.decodes().forEach(held -> cases.add(new DecodeAttentionCase(held)));
        sizes.prefills().forEach(held -> cases.add(new PrefillAttentionCase(held)));
        cases.add(new CacheTypeCase(sizes.fp8Decode()));
        cases.add(new SwapCase(sizes));
        cases.add(new DecodeStepCase());
        cases.add(new PrefixHitCase(sizes));
        cases.addAll(SkinnyMatmulCase.all(sizes.model()));
        cases.addAll(BlockProductCase.all(sizes.model()));
        cases.add(new SamplingCase(sizes));
        return cases;
    }

    private int run() throws InterruptedException {
        Consumer<Row> rows = row -> report.add(options.quick() ? row.withoutVerdict("quick sizes") : row);
        GpuBench bench;
        try {
            bench = prepare(rows);
        } catch (CudaUnavailableException e) {
            cases().forEach(next -> notRun(next, e.getMessage(), rows));
            return 2;
        } catch (RuntimeException e) {
            e.printStackTrace();
            cases().forEach(next -> notRun(next, "the yardsticks failed: " + e, rows));
            return 2;
        }
        String obstacle = null;
        for (GpuCase next : cases()) {
            if (obstacle == null && System.nanoTime() > deadline) {
                obstacle = "no time was left";
            }
            if (obstacle == null) {
                obstacle = measure(next, bench, rows);
            } else {
                notRun(next, obstacle, rows);
            }
        }
        return report.complete() ? 0 : 1;
    }

    /** Opens the card once to see that it is there, and takes its measure. */
    private GpuBench prepare(Consumer<Row> rows) throws CudaUnavailableException {
        try (var backend = CudaBackend.open(options.settings(), CacheType.BF16)) {
            report.device(backend.describe());
            return new GpuBench(options.settings(), sizes, new YardstickRun(backend, sizes).measure(rows),
                    Anchors.read(options.anchors()), options.model());
        }
    }

    private static void notRun(GpuCase next, String why, Consumer<Row> rows) {
        next.goals().forEach(goal -> rows.accept(goal.notRun(why)));
    }

    /** A case that fails takes its own rows along and no other's. @return why nothing can run after it, or null */
    private static @Nullable String measure(GpuCase next, GpuBench bench, Consumer<Row> rows)
            throws InterruptedException {
        List<Goal> open = new ArrayList<>(next.goals());
        try {
            next.measure(bench, row -> {
                open.removeFirst();
                rows.accept(row);
            });
            return null;
        } catch (DeviceLostException e) {
            open.forEach(goal -> rows.accept(goal.notRun(e.getMessage())));
            return "the device was lost: " + e.getMessage();
        } catch (IOException | RuntimeException e) {
            e.printStackTrace();
            open.forEach(goal -> rows.accept(goal.notRun(e.toString())));
            return null;
        }
    }
}
