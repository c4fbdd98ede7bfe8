package dev.warmpath.router.completion;

import dev.warmpath.router.tokenization.template.ChatMessage;
import java.util.List;

/** What a client asks to be continued. */
public sealed interface Prompt {

    /** Name of the request's field that it came in. */
    default String field() {
        return this instanceof Chat ? "messages" : "prompt";
    }

    /**
     * @param messages            at least one
     * @param addGenerationPrompt end with the marker after which the assistant speaks
     */
    record Chat(List<ChatMessage> messages, boolean addGenerationPrompt) implements Prompt {}

    /** @param addSpecialTokens begin with what the model expects at the beginning of a text */
    record Text(String text, boolean addSpecialTokens) implements Prompt {}

    /** @param ids handed over, not copied: nobody writes the array any more */
    record Tokens(int[] ids) implements Prompt {}
}
