package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.compute.Recording;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decode steps as graphs: a step of some hundred kernels costs one launch instead of a millisecond or two of them. The
 * same recording with the same number of rows and the same grids of attention are captured once and replayed. Steps of
 * other sizes share a graph: row counts are rounded up to a bucket, and the kernels read from the device how many rows
 * live; so are the grids of attention, to three that {@link AttentionPlan} knows.
 */
final class StepGraphs {

    /** The largest step that is replayed, in rows. */
    static final int MAX_ROWS = 256;
    /** Of a model: its buckets, by grids of attention and widths of block tables. Oldest go first. */
    private static final int MAX_GRAPHS = 128;
    /** So many programs may turn out not to be replayable: by then the reason is not theirs, and trying takes time. */
    private static final int MOST_REFUSALS = 4;
    /** Steps after which what was refused is tried again: half a minute or more. Memory may have been short then. */
    static final int STEPS_OF_REFUSAL = 4_096;

    private static final Logger log = LoggerFactory.getLogger(StepGraphs.class);

    private final CudaStream stream;
    private final LinkedHashMap<Key, CudaGraph> graphs = new LinkedHashMap<>(MAX_GRAPHS, 0.75f, /* accessOrder */ true);
    /** What no graph can be made of, or none that runs: launched kernel by kernel until the step of that number. */
    private final Map<Key, Long> refused = new HashMap<>();
    private long steps;
    private long refusals;

    private record Key(Recording recording, int rows, Launcher.AttentionGrids grids) {
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
     * @param recording whose operations they are
     * @param launches  enqueues their kernels with {@code rows} rows, their attention as {@code grids} says
     */
    void launch(Recording recording, int rows, Launcher.AttentionGrids grids, Runnable launches) {
        steps++;
        var key = new Key(recording, rows, grids);
        CudaGraph graph = graphs.get(key);
        if (graph != null) {
            replay(key, graph);
            return;
        }
        launches.run();
        refused.values().removeIf(until -> steps >= until);
        if (refused.size() < MOST_REFUSALS && !refused.containsKey(key)) {
            remember(key, launches);
        }
    }

    /** If the graph is refused, so is this step: nobody says whether a part of it has been enqueued. */
    private void replay(Key key, CudaGraph graph) {
        try {
            graph.launch(stream);
        } catch (ComputeException e) {
            graphs.remove(key);
            refuse(key, e);
            stream.synchronize();                                   // an earlier replay may be running still
            graph.close();
            throw e;
        }
    }

    /** The step has been launched and goes on whether there is a graph of it or not. */
    private void remember(Key key, Runnable launches) {
        try {
            evictOldest();
            graphs.put(key, capture(launches));
        } catch (ComputeException e) {
            refuse(key, e);
        }
    }

    private void refuse(Key key, ComputeException reason) {
        refusals++;
        refused.put(key, steps + STEPS_OF_REFUSAL);
        log.warn("a step of {} rows cannot be a graph, its kernels are launched one by one for the next {} steps{}: {}",
                key.rows, STEPS_OF_REFUSAL, refused.size() == MOST_REFUSALS ? ", and no other step is captured" : "",
                reason.getMessage());
    }

    /** How often a graph could not be made or launched. */
    long refusals() {
        return refusals;
    }

    /**
     * Enqueues the launches, then captures them again, as a graph of the caller's own. Drivers before CUDA 12.3 cannot
     * load a kernel, one of cuBLASLt's for example, while they capture; the first time has done it.
     */
    CudaGraph launchAndCapture(Runnable launches) {
        launches.run();
        return capture(launches);
    }

    private CudaGraph capture(Runnable launches) {
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
