package dev.warmpath.worker.compute;

/**
 * What the gate of a feed-forward block goes through before it multiplies. All are x / (1 + exp(−e(x))), which is x
 * times the logistic function of e(x).
 */
public enum GateActivation {
    /** e(x) = x: the sigmoid linear unit of SwiGLU (Shazeer, arXiv 2002.05202). */
    SILU,
    /**
     * e(x) = 2 √(2/π) (x + 0.044715 x³): the tanh form of the Gaussian error linear unit (Hendrycks and Gimpel, arXiv
     * 1606.08415), for ½ (1 + tanh z) = 1 / (1 + exp(−2z)). PyTorch's {@code gelu(approximate="tanh")}.
     */
    GELU_TANH
}
