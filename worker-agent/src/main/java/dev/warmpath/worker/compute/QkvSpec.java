package dev.warmpath.worker.compute;

import org.jspecify.annotations.Nullable;

/**
 * What becomes of a fused projection of queries, keys and values before keys and values are kept, in this order: a bias
 * is added, each head of the queries and of the keys is normed by itself, and then turned by its position.
 *
 * @param bias   F32 [1, (queryHeads + 2 · kvHeads) · headSize]; null: none
 * @param norms  null: none
 * @param rotary F32 [positions, turned]: cosines of turned / 2 angles, then their sines. The leading {@code turned}
 *               elements of a head are turned, an even number up to the head's size, the others stay. Null: heads do
 *               not know their position
 */
public record QkvSpec(@Nullable Tensor bias, @Nullable HeadNorms norms, @Nullable Tensor rotary) {

    /**
     * Root-mean-square norms over the elements of one head, as {@link ComputeBackend#rmsNorm} computes them.
     * @param query F32 [1, headSize], of every query head
     * @param key   likewise of every key head
     */
    public record HeadNorms(Tensor query, Tensor key, float epsilon) {
    }

    /** Of most models: heads are turned and nothing else. */
    public static QkvSpec turned(Tensor rotary) {
        return new QkvSpec(null, null, rotary);
    }

    /** Leading elements of a head that are turned; 0 if none are. */
    public int turnedElements() {
        return rotary == null ? 0 : rotary.columns();
    }
}
