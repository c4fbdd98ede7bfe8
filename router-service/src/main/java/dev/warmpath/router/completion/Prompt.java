package dev.warmpath.router.completion;

import dev.warmpath.router.tokenization.template.ChatMessage;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/** What a client asks to be continued. */
public sealed interface Prompt {

    /** Name of the request's field that it came in. */
    default String field() {
        return this instanceof Chat ? "messages" : "prompt";
    }

    /** How much of a text or of a message tells conversations apart: UTF-16 units. */
    int MAX_BEGINNING = 1_024;
    int MAX_BEGINNING_IDS = 256;
    /** A template's turn for each. */
    int EFFORT_OF_A_MESSAGE = 64;

    /**
     * What the turns of one conversation have in common and others hardly do: of a chat the messages up to the first of
     * the user, of a text its beginning. A shorter text that grows becomes another one, which costs little.
     */
    default long beginning() {
        return switch (this) {
            case Text text -> hash(text.text());
            case Tokens tokens -> Arrays.hashCode(Arrays.copyOf(tokens.ids(), Math.min(tokens.ids().length,
                    MAX_BEGINNING_IDS)));
            case Chat chat -> {
                long hash = 0;
                for (ChatMessage message : chat.messages()) {
                    hash = hash * 31 + message.role().hashCode();
                    hash = hash * 31 + hash(Objects.requireNonNullElse(message.content(), ""));
                    if (message.role().equals("user")) {
                        break;
                    }
                }
                yield hash;
            }
        };
    }

    /** What it takes to turn it into ids: about as much as a text of so many UTF-16 units. Those of ids take nothing. */
    default long effort() {
        return switch (this) {
            case Text text -> text.text().length();
            case Tokens _ -> 0;
            case Chat chat -> {
                long chars = 0;
                for (ChatMessage message : chat.messages()) {
                    chars += EFFORT_OF_A_MESSAGE + Objects.requireNonNullElse(message.content(), "").length();
                    for (Object field : message.fields().values()) {
                        chars += field instanceof CharSequence text ? text.length() : 0;
                    }
                }
                yield chars;
            }
        };
    }

    private static long hash(String text) {
        return text.substring(0, Math.min(text.length(), MAX_BEGINNING)).hashCode();
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
