package dev.warmpath.worker.compute;

/**
 * The arithmetic of one layer's attention: which cached positions a token sees, and what becomes of a product q · k
 * before the softmax.
 * <pre>
 *   s(j)  = scale · (q · k(j)), then softCap · tanh(s(j) / softCap) if there is a cap
 *   sees  = positions max(0, p − window + 1) … p of the token at p; 0 … p without a window
 *   out   = Σ exp(s(j)) v(j) / (Σ exp(s(j)) + exp(sink of the head))          the last term only with sinks
 * </pre>
 * Sources: scale, soft-cap and window as in Gemma 2 (arXiv 2408.00118, section 2) and in transformers'
 * {@code query_pre_attn_scalar}, {@code attn_logit_softcapping} and {@code sliding_window}, which counts the token
 * itself; sinks as in gpt-oss' model card (arXiv 2508.10925, section 2.3).
 *
 * @param scale   of the products, above 0
 * @param window  positions that a token sees, its own included; {@link #NO_WINDOW} is all of them
 * @param softCap bound of the scores, above 0; {@link #NO_CAP} is none
 * @param sinks   whether each query head has a score that takes weight and has no value
 */
public record AttentionSpec(double scale, int window, double softCap, boolean sinks) {

    public static final int NO_WINDOW = 0;
    public static final double NO_CAP = 0;

    public AttentionSpec {
        if (!(scale > 0) || Double.isInfinite(scale) || window < 0 || !(softCap >= 0) || Double.isInfinite(softCap)) {
            throw new IllegalArgumentException(
                    "no attention has scale %s, window %d, soft cap %s".formatted(scale, window, softCap));
        }
    }

    /** Of most models: products over the root of the head's size, every position seen (Vaswani et al., 1706.03762). */
    public static AttentionSpec plain(int headSize) {
        return new AttentionSpec(1 / Math.sqrt(headSize), NO_WINDOW, NO_CAP, false);
    }

    /** First position that a token sees. @param position the token's own */
    public int firstSeen(int position) {
        return window == NO_WINDOW ? 0 : Math.max(0, position - window + 1);
    }
}
