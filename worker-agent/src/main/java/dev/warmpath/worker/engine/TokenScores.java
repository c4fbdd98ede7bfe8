package dev.warmpath.worker.engine;

/**
 * How likely one token was, by the model's logits as they are, and which were the likeliest in its place. A view of
 * what a step brought: valid while it is being told, and only where it was asked for.
 */
public interface TokenScores {

    /** Natural logarithm of its probability, minus infinity if the model excludes it; NaN where not asked for. */
    float logprob();

    /** How many tokens of the vocabulary were at least as likely, itself included; 0 of a drawn one: not known. */
    int rank();

    /** As many as were asked for, or as the vocabulary has. */
    int likeliestCount();

    /** @param place 0 is the likeliest; the lower id comes first among equals */
    int likeliest(int place);

    /** Of the token at that place. */
    float logprob(int place);
}
