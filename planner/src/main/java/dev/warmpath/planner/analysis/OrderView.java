package dev.warmpath.planner.analysis;

import dev.warmpath.planner.analysis.BatchOrder.Work;
import dev.warmpath.planner.output.Figures;
import dev.warmpath.planner.output.Provenance;
import dev.warmpath.planner.output.TextTable;
import java.util.List;

/**
 * What an order saves, as {@code --json} has it.
 *
 * @param orders as the file has it and in the new order, each with a cache of the size that was asked for and with one
 *               that holds everything
 */
public record OrderView(String version, String commit, List<Provenance.Input> inputs, long prompts, long fullBlocks,
        int blockTokens, List<Row> orders) {

    private static final long EVERYTHING = Long.MAX_VALUE;

    /**
     * @param order      {@code file} or {@code prefix}
     * @param endless    the cache holds everything
     * @param savedShare of all full blocks, which are not computed
     */
    public record Row(String order, boolean endless, long cacheBlocks, long computedBlocks, long computedTokens,
            double savedShare) {}

    /** @param cacheBlocks of the cache that was asked for */
    public static OrderView of(Provenance provenance, BatchOrder order, long cacheBlocks) {
        long blocks = Math.max(cacheBlocks, order.longestBlocks());
        return new OrderView(provenance.version(), provenance.commit(), provenance.inputs(), order.prompts(),
                order.fullBlocks(), order.blockTokens(), List.of(row("file", order.asItIs(blocks), order),
                        row("prefix", order.inOrder(blocks), order), row("file", order.asItIs(EVERYTHING), order),
                        row("prefix", order.inOrder(EVERYTHING), order)));
    }

    private static Row row(String name, Work work, BatchOrder order) {
        long full = order.fullBlocks();
        boolean endless = work.cacheBlocks() == EVERYTHING;
        return new Row(name, endless, endless ? 0 : work.cacheBlocks(), work.computedBlocks(),
                work.computedBlocks() * order.blockTokens(), full == 0 ? 0 : 1 - (double) work.computedBlocks() / full);
    }

    /** For a terminal. */
    public String text() {
        var table = new TextTable(2, "order", "cache", "blocks computed", "tokens", "saved");
        for (Row row : orders) {
            table.add(List.of(row.order.equals("file") ? "as the file has it" : "by beginnings",
                    row.endless ? "endless" : Figures.count(row.cacheBlocks) + " blocks",
                    Figures.count(row.computedBlocks), Figures.count(row.computedTokens),
                    Figures.percent(row.savedShare)));
        }
        return Figures.count(prompts) + " prompts, " + Figures.count(fullBlocks) + " full blocks of " + blockTokens
                + " tokens\n\n" + table + "\n" + new Provenance(version, commit, 0, inputs).line() + "\n";
    }
}
