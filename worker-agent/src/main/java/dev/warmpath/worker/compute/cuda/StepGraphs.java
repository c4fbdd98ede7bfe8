package dev.warmpath.worker.compute.cuda;

import java.util.LinkedHashMap;
import java.util.List;

/**
 * Decode steps as graphs: a step of some hundred kernels costs one launch instead of a millisecond or two of them. The
 * same operations with the same number of rows and the same grids of attention are captured once and replayed. Steps of
 * other sizes share a graph: row counts are rounded up to a bucket, and the kernels read from the device how many rows
 * live; so are the grids of attention, to three that {@link AttentionPlan} knows.
 */
final class StepGraphs {

    /** The largest step that is replayed, in rows. */
    static final int MAX_ROWS = 256;
    /** Of a model: its buckets, by widths of block tables. Oldest go first. */
    private static final int MAX_GRAPHS = 128;

    private final CudaStream stream;
    private final LinkedHashMap<Key, CudaGraph> graphs = new LinkedHashMap<>(MAX_GRAPHS, 0.75f, /* accessOrder */ true);

    private record Key(List<Operation> operations, int rows, Launcher.Reach reach) {
    }

    StepGraphs(CudaStream stream) {
        this.stream = stream;
    }

    /** The rows with which a step of up to {@link #MAX_ROWS} is replayed: 1, 2, 4, 8, 16, 24 … 64, 80 … 128, 160 … */
    static int bucket(int rows) {
        if (rows <= 8) {
            return rows == 1 ? 1 : Integer.highestOneBit(rows - 1) << 1;
        }
        int step = rows <= 64 ? 8 : rows <= 128 ? 16 : 32;
        return Math.ceilDiv(rows, step) * step;
    }

    /**
     * Runs operations: replays them, or, if they were not seen before, launches and captures them for the next time.
     * @param operations looked at during the call only
     * @param launches   enqueues their kernels with {@code rows} rows, their attention as {@code reach} says
     */
    void launch(List<Operation> operations, int rows, Launcher.Reach reach, Runnable launches) {
        CudaGraph graph = graphs.get(new Key(operations, rows, reach));
        if (graph != null) {
            graph.launch(stream);
            return;
        }
        graph = launchAndCapture(launches);
        evictOldest();
        graphs.put(new Key(List.copyOf(operations), rows, reach), graph);
    }

    /**
     * Enqueues the launches, then captures them again, as a graph of the caller's own. Drivers before CUDA 12.3 cannot
     * load a kernel, one of cuBLASLt's for example, while they capture; the first time has done it.
     */
    CudaGraph launchAndCapture(Runnable launches) {
        launches.run();
        stream.beginCapture();
        try {
            launches.run();
            return stream.endCapture();
        } catch (RuntimeException e) {
            stream.abandonCapture();
            throw e;
        }
    }

    private void evictOldest() {
        if (graphs.size() == MAX_GRAPHS) {
            stream.synchronize();                                   // it may be running still
            graphs.pollFirstEntry().getValue().close();
        }
    }
}
