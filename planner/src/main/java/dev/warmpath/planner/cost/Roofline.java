package dev.warmpath.planner.cost;

import dev.warmpath.capacity.BlockPool;
import dev.warmpath.capacity.BlockShape;
import dev.warmpath.planner.simulation.ServiceModel;
import java.util.Locale;

/**
 * What a model in bfloat16 costs on cards, by their data sheets. A step reads all weights once; a prompt's token takes
 * two operations for each parameter it goes through [1]; attention takes four for each pair of tokens, layer, head and
 * number of a head: two for the scores, two for the values [1, 2]; a sequence that decodes reads the keys and values of
 * its context, and writes its own [2]. Cards of a worker share all of this evenly.
 *
 * <p>The sum is linear. Some hundreds of sequences that decode at once are bound by operations rather than bytes, and
 * then take longer than it says; so do cards that wait for each other. Measured costs are better than these.
 *
 * <p>[1] Kaplan et al., Scaling Laws for Neural Language Models, 2020, section 2.1. [2] Pope et al., Efficiently
 * Scaling Transformer Inference, 2022.
 *
 * @param cards               of a worker, at least 1
 * @param flopsEfficiency     share of the sheet's operations that is reached, an assumption; above 0, at most 1
 * @param bandwidthEfficiency likewise of its bytes per second
 */
public record Roofline(ModelShape model, Gpu gpu, int cards, double flopsEfficiency, double bandwidthEfficiency) {

    public static final double USUAL_FLOPS_EFFICIENCY = 0.5;
    public static final double USUAL_BANDWIDTH_EFFICIENCY = 0.7;
    /** Of each card, for what a step computes with: an assumption. */
    public static final long WORKSPACE_BYTES = 2_000_000_000;

    private static final int VALUE_BYTES = 2;
    private static final double FLOPS_PER_PARAMETER = 2;
    private static final double FLOPS_PER_PAIR = 4;

    /** In bfloat16. */
    public long weightBytes() {
        return VALUE_BYTES * model.parameters();
    }

    /** Of all cards together: with fewer key-value heads than cards, some are kept more than once. */
    public long cacheBytesPerToken() {
        return block(1).bytesPerToken();
    }

    /** What a worker has room for beside its weights; none if they do not fit. */
    public BlockPool pool(int blockTokens) {
        return BlockPool.of(BlockPool.availableBytes(cards * gpu.memoryBytes(), BlockPool.USUAL_MEMORY_SHARE,
                weightBytes(), cards * WORKSPACE_BYTES), block(blockTokens));
    }

    private BlockShape block(int blockTokens) {
        return new BlockShape(blockTokens, model.layers(), Math.max(cards, model.kvHeads()), model.headDim(),
                VALUE_BYTES);
    }

    public CostModel cost() {
        double flops = cards * gpu.bf16Flops() * flopsEfficiency;
        double bytes = cards * gpu.bytesPerSecond() * bandwidthEfficiency;
        double token = cacheBytesPerToken() / bytes;
        var service = new ServiceModel(1e6 * weightBytes() / bytes,
                1e6 * FLOPS_PER_PARAMETER * model.activeParameters() / flops,
                1e9 * FLOPS_PER_PAIR * model.layers() * model.heads() * model.headDim() / flops, 1e6 * token,
                1e9 * token);
        return new CostModel(model.name() + " on " + cards + " x " + gpu.text(), String.format(Locale.ROOT,
                "reckoned from data sheets: %.2f of operations, %.2f of bandwidth", flopsEfficiency,
                bandwidthEfficiency), service, cacheBytesPerToken(), model.contextLength());
    }
}
