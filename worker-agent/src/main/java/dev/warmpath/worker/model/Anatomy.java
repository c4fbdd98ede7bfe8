package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.GateActivation;

/**
 * What the layers of a family are made of, where families differ.
 *
 * @param isFused      queries, keys and values are one matrix in the files, gate and up another
 * @param hasBiases    of queries, keys and values
 * @param hasHeadNorms heads of queries and keys are normed
 * @param hasOutputNorms what a block makes is normed before it is added, too; other names of norms come with it
 * @param shiftsNorms  files hold a norm's weights less 1
 * @param activation   of the feed-forward block's gate
 */
record Anatomy(boolean isFused, boolean hasBiases, boolean hasHeadNorms, boolean hasOutputNorms, boolean shiftsNorms,
               GateActivation activation) {

    /** Touvron et al., arXiv 2302.13971: nothing of it. */
    static final Anatomy LLAMA = new Anatomy(false, false, false, false, false, GateActivation.SILU);

    Anatomy fused() {
        return new Anatomy(true, hasBiases, hasHeadNorms, hasOutputNorms, shiftsNorms, activation);
    }

    Anatomy withBiases() {
        return new Anatomy(isFused, true, hasHeadNorms, hasOutputNorms, shiftsNorms, activation);
    }

    Anatomy withHeadNorms() {
        return new Anatomy(isFused, hasBiases, true, hasOutputNorms, shiftsNorms, activation);
    }

    Anatomy withOutputNorms() {
        return new Anatomy(isFused, hasBiases, hasHeadNorms, true, shiftsNorms, activation);
    }

    Anatomy withShiftedNorms() {
        return new Anatomy(isFused, hasBiases, hasHeadNorms, hasOutputNorms, true, activation);
    }

    Anatomy with(GateActivation other) {
        return new Anatomy(isFused, hasBiases, hasHeadNorms, hasOutputNorms, shiftsNorms, other);
    }
}
