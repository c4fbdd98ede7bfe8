package dev.warmpath.worker.scheduler;

/**
 * Which tokens of a sequence come with log-probabilities.
 *
 * @param drawn        each that is drawn
 * @param prompt       each of the prompt, but for the first
 * @param alternatives so many of the likeliest tokens are told beside each of these, 0 and above
 */
public record Logprobs(boolean drawn, boolean prompt, int alternatives) {

    public static final Logprobs NONE = new Logprobs(false, false, 0);

    /** Alternatives beside each token that is drawn. */
    public int drawnAlternatives() {
        return drawn ? alternatives : 0;
    }

    /** The same of another answer to the prompt, of which everything is told once. */
    Logprobs ofFollower() {
        return prompt ? new Logprobs(drawn, false, alternatives) : this;
    }
}
