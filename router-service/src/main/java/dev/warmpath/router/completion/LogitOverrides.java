package dev.warmpath.router.completion;

import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.router.completion.BadRequestException.Fault;
import dev.warmpath.router.models.ServedModel;
import java.util.ArrayList;
import java.util.List;

/**
 * What a request asks of the logits; bad words are still text. Ranges as of {@link LogitRules}.
 *
 * @param biasedTokens  at least 0 each, none twice
 * @param biases        of each of these
 * @param allowedTokens at least 0 each; empty = all
 * @param badWords      none empty
 */
public record LogitOverrides(
        float minP,
        float presencePenalty,
        float frequencyPenalty,
        float repetitionPenalty,
        int[] biasedTokens,
        float[] biases,
        int[] allowedTokens,
        List<String> badWords) {

    private static final String BAD_WORDS = "bad_words";

    public static final LogitOverrides NONE =
            new LogitOverrides(0f, 0f, 0f, 1f, new int[0], new float[0], new int[0], List.of());

    /** Whether {@link #toRules} has something to encode. */
    boolean hasText() {
        return !badWords.isEmpty();
    }

    /** @throws BadRequestException if a token is none of the model's, or a bad word has none, or too many */
    LogitRules toRules(ServedModel model) {
        int vocabularySize = model.description().vocabularySize();
        for (int token : biasedTokens) {
            if (token >= vocabularySize) {
                throw outside("logit_bias", token, vocabularySize);
            }
        }
        for (int i = 0; i < allowedTokens.length; i++) {
            if (allowedTokens[i] >= vocabularySize) {
                throw outside("allowed_token_ids[" + i + "]", allowedTokens[i], vocabularySize);
            }
        }
        return new LogitRules(minP, presencePenalty, frequencyPenalty, repetitionPenalty, biasedTokens, biases,
                allowedTokens, badWordTokens(model));
    }

    /**
     * Each word as it begins a text and as it stands in one, if a space before it makes it another token: vLLM's
     * {@code update_from_tokenizer}.
     */
    private int[][] badWordTokens(ServedModel model) {
        List<int[]> words = new ArrayList<>();
        for (int i = 0; i < badWords.size(); i++) {
            String word = badWords.get(i).stripLeading();
            int[] alone = encode(model, word, i);
            words.add(alone);
            int[] inside = encode(model, " " + word, i);
            if (inside[0] != alone[0] && inside.length == alone.length) {
                words.add(inside);
            }
        }
        return words.toArray(int[][]::new);
    }

    private static int[] encode(ServedModel model, String word, int index) {
        String field = BAD_WORDS + "[" + index + "]";
        int[] tokens = model.tokenizer().encode(word, /* addSpecialTokens */ false);
        if (tokens.length == 0 || tokens.length > LogitRules.MAX_BAD_WORD_TOKENS) {
            throw new BadRequestException(Fault.INVALID_VALUE, field, "'" + field + "' has " + tokens.length
                    + " tokens, 1 to " + LogitRules.MAX_BAD_WORD_TOKENS + " are taken");
        }
        for (int token : tokens) {
            if (token >= model.description().vocabularySize()) {
                throw outside(field, token, model.description().vocabularySize());
            }
        }
        return tokens;
    }

    static BadRequestException outside(String field, int token, int vocabularySize) {
        return new BadRequestException(Fault.INVALID_VALUE, field, "'" + field + "' is " + token
                + ", the model's token ids are 0 to " + (vocabularySize - 1));
    }
}
