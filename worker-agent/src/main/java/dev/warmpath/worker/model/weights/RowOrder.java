package dev.warmpath.worker.model.weights;

/**
 * In which order a file holds the rows of a projection to heads whose halves are rotated against each other: element i
 * of a head with element i + headSize / 2, as Hugging Face's files have it, or, side by side, element 2 i with element
 * 2 i + 1, as GGUF files of some architectures have it.
 * <pre>
 *   headSize 6:   row of the tensor   0 1 2 3 4 5
 *                 as stored           0 2 4 1 3 5
 * </pre>
 * Source: llama.cpp, conversion/llama.py, permute.
 * @param headSize rows of a head, even; 0 if rows are stored in their order
 */
public record RowOrder(int headSize) {

    public static final RowOrder AS_STORED = new RowOrder(0);

    /** Where a row of the tensor is stored. */
    int stored(int row) {
        int half = headSize / 2;
        if (half == 0) {
            return row;
        }
        int within = row % headSize;
        return row - within + within % half * 2 + within / half;
    }
}
