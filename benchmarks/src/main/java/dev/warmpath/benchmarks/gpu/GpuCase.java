package dev.warmpath.benchmarks.gpu;

import java.io.IOException;
import java.util.List;
import java.util.function.Consumer;

/** Something that is measured: one or more rows that need the same things set up. */
interface GpuCase {

    /** Its rows, in the order in which {@link #measure} brings them. */
    List<Goal> goals();

    /**
     * @param rows takes each as soon as it is there
     * @throws IOException if the model cannot be written or read
     */
    void measure(GpuBench bench, Consumer<Row> rows) throws IOException, InterruptedException;
}
