package dev.warmpath.benchmarks.gpu;

import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.DeviceLostException;
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
        return cases;
    }

    private int run() throws InterruptedException {
        Consumer<Row> rows = row -> report.add(options.quick() ? row.withoutVerdict("quick sizes") : row);
        String obstacle = null;
        Yardsticks card = null;
        try (var backend = GpuBench.open(options.settings(), CacheType.BF16)) {
            report.device(backend.describe());
        } catch (RuntimeException e) {
            obstacle = e.getMessage();
            report.device("no device: " + obstacle);
        }
        if (obstacle == null) {
            try {
                card = new YardstickRun(options.settings(), sizes).measure(rows);
            } catch (RuntimeException e) {
                obstacle = "the yardsticks failed: " + e;
            }
        }
        for (GpuCase next : cases()) {
            String why = obstacle != null ? obstacle : System.nanoTime() > deadline ? "no time was left" : null;
            if (why != null || card == null) {
                next.goals().forEach(goal -> rows.accept(goal.notRun(String.valueOf(why))));
            } else {
                obstacle = measure(next, bench(card), rows);
            }
        }
        return card == null ? 2 : report.complete() ? 0 : 1;
    }

    private GpuBench bench(Yardsticks card) {
        return new GpuBench(options.settings(), sizes, card, Anchors.read(options.anchors()), options.model());
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
