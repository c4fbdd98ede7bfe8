package dev.warmpath.router.answer;

import dev.warmpath.protocol.generate.GenerateEvent.Scores;
import dev.warmpath.tokenization.ModelTokenizer;
import java.util.List;

/**
 * What a token was to the model where it stands, by its logits before temperature, filters and rules.
 *
 * @param id        the token
 * @param bytes     what it stands for, in UTF-8, maybe a part of a character only
 * @param offset    where its text begins, in characters of the text that it is in, as code points
 * @param logprob   natural logarithm of its probability; NaN of a prompt's first token, which follows nothing
 * @param rank      how many tokens were at least as likely, itself included; 0 = not told
 * @param likeliest those in its place, likeliest first, as many as were asked for
 */
public record TokenScore(int id, byte[] bytes, int offset, float logprob, int rank, List<Likely> likeliest) {

    /** A token that might have stood there. */
    public record Likely(int id, byte[] bytes, float logprob) {}

    /** Where nothing is known: it follows nothing. */
    public static TokenScore first(int id, ModelTokenizer tokenizer, int offset) {
        return new TokenScore(id, tokenizer.bytesOf(id), offset, Float.NaN, 0, List.of());
    }

    /** @param index which of those that the worker told of together */
    public static TokenScore of(int id, ModelTokenizer tokenizer, int offset, Scores scores, int index, int rank) {
        int alternatives = scores.topIds().length / scores.logprobs().length;
        var likeliest = new Likely[alternatives];
        float logprob = scores.logprobs()[index];
        for (int i = 0; i < alternatives; i++) {
            int other = scores.topIds()[index * alternatives + i];
            float told = scores.topLogprobs()[index * alternatives + i];
            likeliest[i] = new Likely(other, tokenizer.bytesOf(other), told);
            if (other == id) {
                logprob = told;            // the same number in both places, whichever way a device has added it up
            }
        }
        return new TokenScore(id, tokenizer.bytesOf(id), offset, logprob, rank, List.of(likeliest));
    }
}
