package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.PagedBatch;
import dev.warmpath.worker.compute.Recording;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What was enqueued and has not been launched yet: operations, the rows of each, and the batch that they attend in. */
final class StepProgram {

    private final List<Operation> operations = new ArrayList<>();
    private int[] rowCounts = new int[256];
    private @Nullable PagedBatch batch;
    private int kvHeads;
    private int group;
    private @Nullable Recording recording;
    private int bodyStart;
    private int bodyEnd;
    private int bodyRowCount;
    private long clears;

    /** @param rowCount 1 and above */
    void add(Operation operation, int rowCount) {
        if (operations.size() == rowCounts.length) {
            rowCounts = Arrays.copyOf(rowCounts, 2 * rowCounts.length);
        }
        rowCounts[operations.size()] = rowCount;
        operations.add(operation);
    }

    void clear() {
        operations.clear();
        batch = null;
        recording = null;
        bodyStart = 0;
        bodyEnd = 0;
        bodyRowCount = 0;
        clears++;
    }

    /** How often it was cleared: a caller that adds in between sees whether what it has added is there still. */
    long clears() {
        return clears;
    }

    boolean isEmpty() {
        return operations.isEmpty();
    }

    /** In their order; a view that {@link #clear} empties. */
    List<Operation> operations() {
        return operations;
    }

    int rowCount(int index) {
        return rowCounts[index];
    }

    /**
     * Makes what was added from {@code start} on the body: the part of a step that comes again. Tokens are fed before and
     * drawn behind it, which happens in another place from step to step, where several are in flight.
     */
    void closeBody(Recording recording, int start, int rowCount) {
        this.recording = recording;
        bodyStart = start;
        bodyEnd = operations.size();
        bodyRowCount = rowCount;
    }

    /** What the body is a recording of; null if there is no body. */
    @Nullable Recording recording() {
        return recording;
    }

    int bodyStart() {
        return bodyStart;
    }

    /** Index behind the last operation of the body. */
    int bodyEnd() {
        return bodyEnd;
    }

    /** Rows of every operation of the body; 0 without one. */
    int bodyRowCount() {
        return bodyRowCount;
    }

    /** The rows of every operation if they all have the same number; otherwise, or without any, 0. */
    int commonRowCount() {
        for (int i = 1; i < operations.size(); i++) {
            if (rowCounts[i] != rowCounts[0]) {
                return 0;
            }
        }
        return operations.isEmpty() ? 0 : rowCounts[0];
    }

    /** All attention of a program is of the same queries and contexts, because it has one plan. */
    void attendIn(PagedBatch batch, int kvHeads, int group) {
        this.batch = batch;
        this.kvHeads = kvHeads;
        this.group = group;
    }

    /** Whether one plan serves both batches, which may be of two groups of the cache. */
    boolean attendsIn(PagedBatch other, int otherKvHeads, int otherGroup) {
        return batch != null && otherKvHeads == kvHeads && otherGroup == group && other.queryStarts() == batch.queryStarts()
                && other.contextLengths() == batch.contextLengths() && other.sequenceCount() == batch.sequenceCount();
    }

    boolean attends() {
        return batch != null;
    }

    /** Of the cache that is attended to. */
    int kvHeads() {
        return kvHeads;
    }

    /** Query heads of a KV head. */
    int group() {
        return group;
    }
}
