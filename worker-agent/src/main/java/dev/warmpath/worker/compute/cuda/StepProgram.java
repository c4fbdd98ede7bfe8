package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.PagedBatch;
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
     * Index of the first operation of the body: what is left without tokens fed at the start and tokens drawn at the
     * end. Those are kept in another place from step to step, where several are in flight; the body is the same.
     */
    int bodyStart() {
        int start = 0;
        while (start < operations.size() && operations.get(start) instanceof Operation.FeedTokens) {
            start++;
        }
        return start;
    }

    /** Index behind the last operation of the body. */
    int bodyEnd() {
        int end = operations.size();
        while (end > bodyStart() && operations.get(end - 1) instanceof Operation.Sample) {
            end--;
        }
        return end;
    }

    /** The rows of every operation of the body if they all have the same number; otherwise, or without any, 0. */
    int bodyRowCount() {
        int start = bodyStart();
        int end = bodyEnd();
        for (int i = start + 1; i < end; i++) {
            if (rowCounts[i] != rowCounts[start]) {
                return 0;
            }
        }
        return start == end ? 0 : rowCounts[start];
    }

    /** All attention of a program is of the same queries and contexts, because it has one plan. */
    void attendIn(PagedBatch batch, int kvHeads) {
        this.batch = batch;
        this.kvHeads = kvHeads;
    }

    /** Whether one plan serves both batches, which may be of two groups of the cache. */
    boolean attendsIn(PagedBatch other, int otherKvHeads) {
        return batch != null && otherKvHeads == kvHeads && other.queryStarts() == batch.queryStarts()
                && other.contextLengths() == batch.contextLengths() && other.sequenceCount() == batch.sequenceCount();
    }

    boolean attends() {
        return batch != null;
    }

    /** Of the cache that is attended to. */
    int kvHeads() {
        return kvHeads;
    }
}
