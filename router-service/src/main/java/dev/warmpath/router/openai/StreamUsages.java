package dev.warmpath.router.openai;

import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.router.completion.CompletionEvent.Finished;
import java.util.Arrays;

/**
 * What the prompts and choices of a stream take so far. Cached tokens are those that the router expects until the worker
 * has told.
 */
final class StreamUsages {

    private final int choicesPerPrompt;
    private final int[] promptTokens;
    private final int[] cachedTokens;
    /** Of each choice. */
    private final int[] completionTokens;

    StreamUsages(int promptCount, int choicesPerPrompt) {
        this.choicesPerPrompt = choicesPerPrompt;
        promptTokens = new int[promptCount];
        cachedTokens = new int[promptCount];
        completionTokens = new int[promptCount * choicesPerPrompt];
    }

    static Usage sum(Usage one, Usage other) {
        return new Usage(one.promptTokens() + other.promptTokens(), one.cachedTokens() + other.cachedTokens(),
                one.completionTokens() + other.completionTokens());
    }

    void begin(int firstChoice, int prompt, int cached) {
        promptTokens[firstChoice / choicesPerPrompt] = prompt;
        cachedTokens[firstChoice / choicesPerPrompt] = cached;
        Arrays.fill(completionTokens, firstChoice, firstChoice + choicesPerPrompt, 0);
    }

    void count(int choice, int tokens) {
        completionTokens[choice] = tokens;
    }

    /** Of the last of a prompt's choices: all of them are known now. */
    void finish(Finished finished) {
        int prompt = finished.choice() / choicesPerPrompt;
        cachedTokens[prompt] = finished.usage().cachedTokens();
        if (finished.last()) {
            int first = prompt * choicesPerPrompt;
            Arrays.fill(completionTokens, first, first + choicesPerPrompt, 0);
            completionTokens[first] = finished.usage().completionTokens();
        }
    }

    Usage total() {
        return new Usage(sum(promptTokens), sum(cachedTokens), sum(completionTokens));
    }

    private static int sum(int[] counts) {
        int sum = 0;
        for (int count : counts) {
            sum += count;
        }
        return sum;
    }
}
