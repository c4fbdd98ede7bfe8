package dev.warmpath.worker.model;

import java.util.List;

/**
 * How a model that was trained on short texts is made to turn over longer ones. Names and rules as in transformers'
 * modeling_rope_utils (versions 4.57 and 5.24, which agree but for where keys stand).
 */
public sealed interface RotaryScaling {

    /** What cosines and sines are multiplied by. */
    default double amplitude() {
        return 1;
    }

    /** Positions that the model is good for. @param stated what its file says */
    default int contextLength(int stated) {
        return stated;
    }

    /** Frequencies as they are. */
    record Plain() implements RotaryScaling {
    }

    /** Frequencies divided: positions are interpolated (Chen et al., arXiv 2306.15595). */
    record Linear(double factor) implements RotaryScaling {
    }

    /**
     * Slow frequencies divided, fast ones kept, a slope in between; by how often they turn in the original context
     * (Llama 3.1's model card and reference code).
     * @param lowFrequencyFactor  turns below which a frequency is divided
     * @param highFrequencyFactor turns above which it stays; more than those
     * @param originalContext     positions that the model was trained on first
     */
    record Llama3(double factor, double lowFrequencyFactor, double highFrequencyFactor, int originalContext)
            implements RotaryScaling {
    }

    /**
     * Likewise, with a slope over the pairs' indexes (Peng et al., YaRN, arXiv 2309.00071, section 3).
     * @param fastTurns turns in the original context above which a frequency stays
     * @param slowTurns turns below which it is divided
     * @param wholeEnds whether the slope begins and ends at whole indexes
     */
    record Yarn(double factor, int originalContext, double fastTurns, double slowTurns, boolean wholeEnds,
                double amplitude) implements RotaryScaling {

        /** Cards tell users to add the scaling to a file that goes on stating the original context. */
        @Override
        public int contextLength(int stated) {
            return (int) Math.min(Integer.MAX_VALUE, Math.max(stated, Math.rint(factor * originalContext)));
        }

        /** The paper's temperature of attention, section 3.4, as a factor of cosines and sines. */
        static double temperature(double factor, double weight) {
            return factor <= 1 ? 1 : 0.1 * weight * Math.log(factor) + 1;
        }
    }

    /**
     * Each frequency divided by a number of its own (Ding et al., LongRoPE, arXiv 2402.13753). There are two lists, for
     * sequences that stay within the original context and for longer ones; a context that is served is one or the other
     * for all its sequences, as in vLLM, since keys that are kept cannot be turned again.
     * @param shortFactors of each pair
     * @param longFactors  likewise
     */
    record LongRope(List<Double> shortFactors, List<Double> longFactors, int originalContext, double amplitude)
            implements RotaryScaling {

        public LongRope {
            shortFactors = List.copyOf(shortFactors);
            longFactors = List.copyOf(longFactors);
        }

        /** The amplitude that transformers derives where the file gives none. */
        static double amplitude(double factor, int originalContext) {
            return factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(originalContext));
        }
    }
}
