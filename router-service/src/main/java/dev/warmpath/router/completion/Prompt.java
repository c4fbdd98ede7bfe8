package dev.warmpath.router.completion;

import dev.warmpath.tokenization.template.ChatMessage;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What a client asks to be continued. */
public sealed interface Prompt {

    /** Where in the request it came, for messages. */
    String field();

    /** How much of a text or of a message tells conversations apart: UTF-16 units. */
    int MAX_BEGINNING = 1_024;
    int MAX_BEGINNING_IDS = 256;
    /** A template's turn for each. */
    int EFFORT_OF_A_MESSAGE = 64;
    /** Its name, and what JSON writes around it. */
    int EFFORT_OF_A_FIELD = 16;

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
                    chars += effort(message.fields());
                }
                yield chars + effort(chat.variables());
            }
        };
    }

    private static long effort(@Nullable Object value) {
        return switch (value) {
            case String text -> text.length();
            case Map<?, ?> map -> {
                long chars = 0;
                for (Object each : map.values()) {
                    chars += EFFORT_OF_A_FIELD + effort(each);
                }
                yield chars;
            }
            case List<?> list -> {
                long chars = 0;
                for (Object each : list) {
                    chars += effort(each);
                }
                yield chars;
            }
            case null, default -> 1;
        };
    }

    private static long hash(String text) {
        return text.substring(0, Math.min(text.length(), MAX_BEGINNING)).hashCode();
    }

    /**
     * @param messages             at least one
     * @param addGenerationPrompt  end with the marker after which the assistant speaks
     * @param continueFinalMessage end inside the last message, which the answer goes on with; not with the other
     * @param variables            what else the template can see, as {@code tools}; as of {@link ChatMessage#fields}
     */
    record Chat(List<ChatMessage> messages, boolean addGenerationPrompt, boolean continueFinalMessage,
            Map<String, ?> variables) implements Prompt {

        @Override
        public String field() {
            return "messages";
        }
    }

    /** @param addSpecialTokens begin with what the model expects at the beginning of a text */
    record Text(String field, String text, boolean addSpecialTokens) implements Prompt {}

    /** @param ids handed over, not copied: nobody writes the array any more */
    record Tokens(String field, int[] ids) implements Prompt {}
}
