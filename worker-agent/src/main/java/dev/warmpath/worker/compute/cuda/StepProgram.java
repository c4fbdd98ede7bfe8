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

    /** The rows of every operation if they all have the same number; otherwise 0. */
    int commonRowCount() {
        for (int i = 1; i < operations.size(); i++) {
            if (rowCounts[i] != rowCounts[0]) {
                return 0;
            }
        }
        return operations.isEmpty() ? 0 : rowCounts[0];
    }

    /** All attention of a program is of one batch, because it has one plan. */
    void attendIn(PagedBatch batch, int kvHeads) {
        this.batch = batch;
        this.kvHeads = kvHeads;
    }

    boolean attendsIn(PagedBatch other, int otherKvHeads) {
        return other.equals(batch) && otherKvHeads == kvHeads;
    }

    boolean attends() {
        return batch != null;
    }

    /** Of the cache that is attended to. */
    int kvHeads() {
        return kvHeads;
    }
}
