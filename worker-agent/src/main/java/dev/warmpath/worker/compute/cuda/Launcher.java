package dev.warmpath.worker.compute.cuda;

import static dev.warmpath.worker.compute.cuda.KernelSizes.DECODE_WARPS;
import static dev.warmpath.worker.compute.cuda.KernelSizes.GATE_THREADS;
import static dev.warmpath.worker.compute.cuda.KernelSizes.NORM_THREADS;
import static dev.warmpath.worker.compute.cuda.KernelSizes.PREFILL_WARPS;
import static dev.warmpath.worker.compute.cuda.KernelSizes.REDUCE_THREADS;
import static dev.warmpath.worker.compute.cuda.KernelSizes.ROW_THREADS;
import static dev.warmpath.worker.compute.cuda.KernelSizes.SAMPLE_ROW_BYTES;
import static dev.warmpath.worker.compute.cuda.KernelSizes.SAMPLE_SLICES;
import static dev.warmpath.worker.compute.cuda.KernelSizes.SAMPLE_SLICE_BYTES;
import static dev.warmpath.worker.compute.cuda.KernelSizes.SAMPLE_THREADS;
import static dev.warmpath.worker.compute.cuda.KernelSizes.SCORED_ROW_BYTES;
import static dev.warmpath.worker.compute.cuda.KernelSizes.SKINNY_OUTPUTS;
import static dev.warmpath.worker.compute.cuda.KernelSizes.SKINNY_THREADS;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.CacheShape;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.GateActivation;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Turns operations into launches on one stream. Rows are those of the grid; kernels skip the ones that do not live. */
final class Launcher {

    /** Columns that a block of the kernels takes which change each number by itself. */
    private static final int GATE_COLUMNS = 8 * GATE_THREADS;
    private static final int DECODE_THREADS = 32 * DECODE_WARPS;
    private static final int PREFILL_THREADS = 32 * PREFILL_WARPS;
    /** Rows that are sampled by one launch, for which there is room on the device; all of a step that is replayed. */
    private static final int MOST_SAMPLED_ROWS = StepGraphs.MAX_ROWS;
    /** Up to these many rows the weights are read by a kernel of ours, above by the library's. */
    private static final int[] SKINNY_ROWS = {1, 2, 4, 8};
    private static final int MOST_SKINNY_ROWS = 8;
    /** A window that is wider than any context, and far from the end of its type. */
    private static final int WHOLE_CONTEXT = 1 << 30;

    private final CudaStream stream;
    private final GemmPlans gemm;
    private final BlockProducts blocks;
    private final Kernel feedTokens;
    private final Kernel embed;
    private final Kernel rmsNorm;
    private final Kernel addRmsNorm;
    private final Kernel gateSilu;
    private final Kernel gateGeluTanh;
    private final Kernel scale;
    private final Kernel softCap;
    private final Kernel gatherRows;
    private final Kernel sampleScan;
    private final Kernel sampleGather;
    private final Kernel sample;
    private final DevicePointer sampledRows;
    private final Kernel adjustScan;
    private final Kernel adjust;
    private final Kernel adjustCut;
    private final Kernel adjustSettle;
    private final DevicePointer rawSlices;
    private final Kernel scoreScan;
    private final Kernel score;
    private final DevicePointer scoredRows;
    private final Kernel[] skinnyToBf16;
    private final Kernel[] skinnyToF32;

    Launcher(CudaDevice device, CudaStream stream, BlockProducts blocks) {
        this.stream = stream;
        this.blocks = blocks;
        gemm = device.gemm();
        feedTokens = device.kernel("wp_feed_tokens");
        embed = device.kernel("wp_embed");
        rmsNorm = device.kernel("wp_rms_norm");
        addRmsNorm = device.kernel("wp_add_rms_norm");
        gateSilu = device.kernel("wp_gate_silu");
        gateGeluTanh = device.kernel("wp_gate_gelu_tanh");
        scale = device.kernel("wp_scale");
        softCap = device.kernel("wp_soft_cap");
        gatherRows = device.kernel("wp_gather_rows");
        sampleScan = device.kernel("wp_sample_scan");
        sampleGather = device.kernel("wp_sample_gather");
        sample = device.kernel("wp_sample");
        sampledRows = device.allocate((long) MOST_SAMPLED_ROWS * SAMPLE_ROW_BYTES, "what is sampled from");
        adjustScan = device.kernel("wp_adjust_scan");
        adjust = device.kernel("wp_adjust");
        adjustCut = device.kernel("wp_adjust_cut");
        adjustSettle = device.kernel("wp_adjust_settle");
        rawSlices = device.allocate((long) MOST_SAMPLED_ROWS * SAMPLE_SLICES * SAMPLE_SLICE_BYTES,
                "what is left of raw logits");
        scoreScan = device.kernel("wp_score_scan");
        score = device.kernel("wp_score");
        scoredRows = device.allocate((long) MOST_SAMPLED_ROWS * SCORED_ROW_BYTES, "what is scored");
        skinnyToBf16 = skinny(device, "bf16");
        skinnyToF32 = skinny(device, "f32");
    }

    private static Kernel[] skinny(CudaDevice device, String output) {
        return Arrays.stream(SKINNY_ROWS)
                .mapToObj(rows -> device.kernel("wp_skinny_matmul_%s_m%d".formatted(output, rows)))
                .toArray(Kernel[]::new);
    }

    /**
     * On which grids a step's attention is launched, and over which plan.
     * @param decodePlan  as {@link AttentionPlan} lays it out; null if there is no work
     * @param workItems   blocks of threads for work items, those past the plan's have nothing to do; 0 is none
     * @param reduceItems likewise for sequences that were cut into pieces
     * @param tiles       prefill tiles; null if there are none
     */
    record AttentionGrids(@Nullable DevicePointer decodePlan, int workItems, int reduceItems,
                          @Nullable DevicePointer tiles, int tileCount) {

        static final AttentionGrids NOTHING = new AttentionGrids(null, 0, 0, null, 0);
    }

    /**
     * Enqueues one operation.
     * @param rows 1 and above
     * @param live how many of the rows count, on the device; null: all
     */
    void launch(Operation operation, int rows, @Nullable DevicePointer live, AttentionGrids grids) {
        switch (operation) {
            case Operation.FeedTokens feed -> feedTokens.launch(stream, Math.ceilDiv(rows, ROW_THREADS), 1, ROW_THREADS,
                    0, feedTokens.arguments().pointer(feed.drawn().memory).pointer(feed.sources().memory)
                            .pointer(feed.tokens().memory).integer(rows).pointer(live));
            case Operation.Embed lookup -> embed(lookup, rows, live);
            case Operation.RmsNorm norm -> rmsNorm.launch(stream, rows, 1, NORM_THREADS, 0, rmsNorm.arguments()
                    .pointer(norm.input().memory).pointer(norm.weight().memory).real(norm.epsilon())
                    .pointer(norm.output().memory).integer(norm.output().columns()).pointer(live));
            case Operation.AddRmsNorm norm -> addRmsNorm.launch(stream, rows, 1, NORM_THREADS, 0, addRmsNorm.arguments()
                    .pointer(norm.residual().memory).pointer(norm.addend().memory).pointer(norm.weight().memory)
                    .real(norm.epsilon()).pointer(norm.output().memory).integer(norm.output().columns())
                    .pointer(live));
            case Operation.Matmul product -> multiply(product, rows);
            case Operation.RotateAndStore store -> rotateAndStore(store, rows, live);
            case Operation.Attention attention -> attend(attention, grids);
            case Operation.Gate gate -> {
                Kernel kernel = gate(gate.activation());
                kernel.launch(stream, rows, Math.ceilDiv(gate.output().columns(), GATE_COLUMNS), GATE_THREADS, 0,
                        kernel.arguments().pointer(gate.gateUp().memory).pointer(gate.output().memory)
                                .integer(gate.output().columns()).pointer(live));
            }
            case Operation.Scale multiply -> scale.launch(stream, rows,
                    Math.ceilDiv(multiply.values().columns(), GATE_COLUMNS), GATE_THREADS, 0, scale.arguments()
                            .pointer(multiply.values().memory).real(multiply.factor())
                            .integer(multiply.values().columns()).pointer(live));
            case Operation.SoftCap bound -> softCap.launch(stream, rows,
                    Math.ceilDiv(bound.logits().columns(), GATE_COLUMNS), GATE_THREADS, 0, softCap.arguments()
                            .pointer(bound.logits().memory).real(bound.cap()).integer(bound.logits().columns())
                            .pointer(live));
            case Operation.GatherRows take -> gatherRows.launch(stream, rows, 1, ROW_THREADS, 0, gatherRows.arguments()
                    .pointer(take.input().memory)
                    .pointer(take.rowIndexes().memory.from((long) take.firstIndex() * Integer.BYTES))
                    .pointer(take.output().memory).integer(take.output().columns()).pointer(live));
            case Operation.Sample draw -> {
                for (int row = 0; row < rows; row += MOST_SAMPLED_ROWS) {
                    sample(draw, row, Math.min(MOST_SAMPLED_ROWS, rows - row), live);
                }
            }
            case Operation.Score tell -> {
                for (int row = 0; row < rows; row += MOST_SAMPLED_ROWS) {
                    score(tell, row, Math.min(MOST_SAMPLED_ROWS, rows - row));
                }
            }
        }
    }

    /**
     * As many rows as there is room for what the first two kernels leave of them.
     * @param live of a step that is replayed, which has no more of them
     */
    private void sample(Operation.Sample draw, int row, int rows, @Nullable DevicePointer live) {
        int vocabulary = draw.logits().columns();
        DevicePointer logits = draw.logits().memory.from((long) row * vocabulary * Float.BYTES);
        long ints = (long) row * Integer.BYTES;
        DevicePointer temperatures = draw.temperatures().memory.from(ints);
        DevicePointer topKs = draw.topKs().memory.from(ints);
        DevicePointer topPs = draw.topPs().memory.from(ints);
        DevicePointer wanted = draw.wanted().memory.from(ints);
        Operation.Adjustment adjustment = draw.adjustment();
        if (adjustment != null) {
            adjust(adjustment, logits, vocabulary, wanted, row, rows, live);
        }
        sampleScan.launch(stream, rows, SAMPLE_SLICES, SAMPLE_THREADS, 0, sampleScan.arguments().pointer(logits)
                .integer(vocabulary).pointer(wanted).pointer(sampledRows).pointer(live));
        if (adjustment != null) {
            adjustCut.launch(stream, rows, SAMPLE_SLICES, SAMPLE_THREADS, 0, adjustCut.arguments().pointer(logits)
                    .integer(vocabulary).pointer(adjustment.modes().memory.from(ints))
                    .pointer(adjustment.cuts().memory.from(ints)).pointer(sampledRows).pointer(live));
        }
        sampleGather.launch(stream, rows, SAMPLE_SLICES, SAMPLE_THREADS, 0, sampleGather.arguments().pointer(logits)
                .integer(vocabulary).pointer(temperatures).pointer(topKs).pointer(topPs).pointer(sampledRows)
                .pointer(live));
        sample.launch(stream, rows, 1, SAMPLE_THREADS, 0, sample.arguments().pointer(logits).integer(vocabulary)
                .pointer(draw.seeds().memory.from((long) row * Long.BYTES)).pointer(draw.counters().memory.from(ints))
                .pointer(temperatures).pointer(topKs).pointer(topPs).pointer(wanted)
                .pointer(draw.tokens().memory.from(ints)).pointer(draw.logprobs().memory.from(ints))
                .pointer(sampledRows).pointer(live));
        if (adjustment != null) {
            adjustSettle.launch(stream, rows, 1, ROW_THREADS, 0, adjustSettle.arguments().pointer(logits)
                    .integer(vocabulary).pointer(wanted).pointer(adjustment.modes().memory.from(ints))
                    .pointer(adjustment.starts().memory.from(ints)).pointer(adjustment.ids().memory)
                    .pointer(adjustment.notes().memory).pointer(adjustment.raws().memory).pointer(rawSlices)
                    .pointer(draw.tokens().memory.from(ints)).pointer(draw.logprobs().memory.from(ints))
                    .pointer(live));
        }
    }

    private void adjust(Operation.Adjustment adjustment, DevicePointer logits, int vocabulary, DevicePointer wanted,
                        int row, int rows, @Nullable DevicePointer live) {
        long ints = (long) row * Integer.BYTES;
        DevicePointer modes = adjustment.modes().memory.from(ints);
        adjustScan.launch(stream, rows, SAMPLE_SLICES, SAMPLE_THREADS, 0, adjustScan.arguments().pointer(logits)
                .integer(vocabulary).pointer(wanted).pointer(modes).pointer(rawSlices).pointer(live));
        adjust.launch(stream, rows, SAMPLE_SLICES, SAMPLE_THREADS, 0, adjust.arguments().pointer(logits)
                .integer(vocabulary).pointer(modes).pointer(adjustment.starts().memory.from(ints))
                .pointer(adjustment.sources().memory.from(ints)).pointer(adjustment.drawnBefore().memory)
                .pointer(adjustment.repetitions().memory.from(ints))
                .pointer(adjustment.frequencies().memory.from(ints))
                .pointer(adjustment.presences().memory.from(ints)).pointer(adjustment.ids().memory)
                .pointer(adjustment.biases().memory).pointer(adjustment.notes().memory)
                .pointer(adjustment.raws().memory).pointer(live));
    }

    /** As many rows as there is room for what the first kernel leaves of them. */
    private void score(Operation.Score tell, int row, int rows) {
        int vocabulary = tell.logits().columns();
        DevicePointer logits = tell.logits().memory.from((long) row * vocabulary * Float.BYTES);
        int first = tell.firstRow() + row;
        scoreScan.launch(stream, rows, SAMPLE_SLICES, SAMPLE_THREADS, 0, scoreScan.arguments().pointer(logits)
                .integer(vocabulary).pointer(tell.targets().memory).pointer(tell.counts().memory).integer(first)
                .pointer(scoredRows));
        score.launch(stream, rows, 1, ROW_THREADS, 0, score.arguments().pointer(logits).integer(vocabulary)
                .pointer(tell.targets().memory).pointer(tell.counts().memory).integer(first).pointer(scoredRows)
                .pointer(tell.logprobs().memory).pointer(tell.ranks().memory).pointer(tell.topIds().memory)
                .pointer(tell.topLogprobs().memory));
    }

    private void embed(Operation.Embed lookup, int rows, @Nullable DevicePointer live) {
        if (lookup.table().hasBlocks()) {
            blocks.embed(lookup, rows, live);
            return;
        }
        embed.launch(stream, rows, 1, ROW_THREADS, 0, embed.arguments().pointer(lookup.tokens().memory)
                .pointer(lookup.table().memory).pointer(lookup.hidden().memory).integer(lookup.hidden().columns())
                .pointer(live));
    }

    private void multiply(Operation.Matmul product, int rows) {
        if (product.weight().hasBlocks()) {
            blocks.multiply(product, rows);
            return;
        }
        DataType type = product.output().type();
        int outputs = product.weight().rows();
        int depth = product.weight().columns();
        if (rows > MOST_SKINNY_ROWS && outputs % GemmPlans.OUTPUTS_MULTIPLE == 0) {
            gemm.multiply(stream, product.input().memory, product.weight().memory, product.output().memory, type, rows,
                    outputs, depth);
            return;
        }
        for (int row = 0; row < rows; row += MOST_SKINNY_ROWS) {
            multiplySkinny(product, row, Math.min(MOST_SKINNY_ROWS, rows - row));
        }
    }

    /** A few rows; of a product as wide as no library takes it, such as a head of 32,001 tokens, one part. */
    private void multiplySkinny(Operation.Matmul product, int firstRow, int rows) {
        DataType type = product.output().type();
        int outputs = product.weight().rows();
        int depth = product.weight().columns();
        int index = Integer.SIZE - Integer.numberOfLeadingZeros(rows - 1);      // rounded up to 1, 2, 4, 8
        Kernel skinny = (type == DataType.BF16 ? skinnyToBf16 : skinnyToF32)[index];
        skinny.launch(stream, Math.ceilDiv(outputs, SKINNY_OUTPUTS), 1, SKINNY_THREADS, 0, skinny.arguments()
                .pointer(product.input().memory.from((long) firstRow * depth * DataType.BF16.bytes()))
                .pointer(product.weight().memory)
                .pointer(product.output().memory.from((long) firstRow * outputs * type.bytes()))
                .integer(outputs).integer(depth));
    }

    private Kernel gate(GateActivation activation) {
        return switch (activation) {
            case SILU -> gateSilu;
            case GELU_TANH -> gateGeluTanh;
        };
    }

    private void rotateAndStore(Operation.RotateAndStore store, int rows, @Nullable DevicePointer live) {
        CudaKvCache cache = store.cache();
        CacheShape shape = cache.shape();
        Operation.HeadWork work = store.work();
        Kernel kernel = cache.kernels.rotateStore();
        kernel.launch(stream, rows, 1, ROW_THREADS, 0, kernel.arguments()
                .pointer(store.qkv().memory).pointer(memory(work.bias())).pointer(memory(work.queryNorm()))
                .pointer(memory(work.keyNorm())).real(work.epsilon()).pointer(memory(work.rotary()))
                .integer(work.rotary() == null ? 0 : work.rotary().columns()).pointer(store.positions().memory)
                .pointer(store.slots().memory).pointer(cache.keys(store.layer())).pointer(cache.values(store.layer()))
                .integer(queryHeads(store.qkv(), shape)).integer(shape.kvHeadCount()).integer(shape.headSize())
                .pointer(live));
    }

    private static @Nullable DevicePointer memory(@Nullable CudaTensor tensor) {
        return tensor == null ? null : tensor.memory;
    }

    private static int queryHeads(CudaTensor qkv, CacheShape shape) {
        return qkv.columns() / shape.headSize() - 2 * shape.kvHeadCount();
    }

    private void attend(Operation.Attention attention, AttentionGrids grids) {
        CacheKernels all = attention.cache().kernels;
        AttentionSpec spec = attention.spec();
        CacheKernels.Attention kernels = isShaped(spec) ? all.shaped() : all.attention();
        int queryHeads = queryHeads(attention.qkv(), attention.cache().shape());
        int kvHeads = attention.cache().shape().kvHeadCount();
        if (grids.tiles() != null) {
            kernels.prefill().launch(stream, queryHeads, grids.tileCount(), PREFILL_THREADS, all.prefillSharedBytes(),
                    withScores(withCache(kernels.prefill().arguments(), attention).pointer(grids.tiles())
                            .pointer(attention.output().memory).integer(queryHeads).integer(kvHeads), spec,
                            kernels.takesShape()));
        }
        if (grids.decodePlan() != null) {
            DevicePointer outputs = attention.cache().partialOutputs;
            DevicePointer stats = attention.cache().partialStats;
            kernels.decode().launch(stream, kvHeads, grids.workItems(), DECODE_THREADS, all.decodeSharedBytes(),
                    withScores(withCache(kernels.decode().arguments(), attention).pointer(grids.decodePlan())
                            .pointer(outputs).pointer(stats).pointer(attention.output().memory).integer(queryHeads)
                            .integer(kvHeads), spec, kernels.takesShape()));
            if (grids.reduceItems() > 0) {
                all.reduce().launch(stream, queryHeads, grids.reduceItems(), REDUCE_THREADS, 0,
                        all.reduce().arguments().pointer(grids.decodePlan()).pointer(outputs).pointer(stats)
                                .pointer(attention.output().memory).integer(queryHeads));
            }
        }
    }

    private static boolean isShaped(AttentionSpec spec) {
        return spec.window() != AttentionSpec.NO_WINDOW || spec.softCap() != AttentionSpec.NO_CAP;
    }

    /** What the kernels take of a rule of scores; those of plain ones the scale only, as an exponent of 2. */
    private static Arguments withScores(Arguments arguments, AttentionSpec spec, boolean takesShape) {
        arguments.real((float) (spec.scale() / Math.log(2)));
        if (!takesShape) {
            return arguments;
        }
        boolean caps = spec.softCap() != AttentionSpec.NO_CAP;
        return arguments.integer(spec.window() == AttentionSpec.NO_WINDOW ? WHOLE_CONTEXT : spec.window())
                .real(caps ? (float) (spec.scale() / spec.softCap()) : 0)
                .real(caps ? (float) (spec.softCap() / spec.scale()) : 0);
    }

    private static Arguments withCache(Arguments arguments, Operation.Attention attention) {
        return arguments.pointer(attention.qkv().memory).integer(attention.qkv().columns())
                .pointer(attention.cache().keys(attention.layer())).pointer(attention.cache().values(attention.layer()))
                .pointer(attention.blockTables().memory).integer(attention.tableStride());
    }
}
