package dev.warmpath.worker.foreign.generate;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.databind.JsonNode;

/**
 * Some tokens of a {@code tokenizer.json} whose text stands there as it is, so that no tokenizer is needed to know it:
 * words and added tokens of plain ASCII, which all kinds of vocabularies write as such but for a mark of the space
 * before a word. Of other characters a decoder may make something else, added token or not. An engine is asked whether
 * its tokens of these ids are the same.
 *
 * @param tokens words, evenly spread over the vocabulary, and then added tokens, likewise
 */
public record KnownTokens(List<Token> tokens) {

    private static final int MOST_OF_A_KIND = 32;
    /** Shorter ones are at the same ids in vocabularies that have little else in common. */
    private static final int SHORTEST_WORD = 3;
    private static final int LONGEST = 100;
    /** What stands for a space at the beginning, of byte-level vocabularies and of SentencePiece's. */
    private static final String SPACES = "\u0120\u2581";

    public KnownTokens {
        tokens = List.copyOf(tokens);
    }

    /** @param text without spaces around it */
    public record Token(int id, String text, boolean isAdded) {}

    /**
     * @param tokenizer of the format of Hugging Face's tokenizers; merges, the most of it, are passed over
     * @throws IOException                            if it cannot be read
     * @throws tools.jackson.core.JacksonException if it is not JSON
     */
    public static KnownTokens read(InputStream tokenizer) throws IOException {
        List<Token> words = new ArrayList<>();
        Map<Integer, Token> added = new HashMap<>();
        try (JsonParser json = Dialect.JSON.createParser(tokenizer)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                return new KnownTokens(List.of());
            }
            while (json.nextToken() == JsonToken.PROPERTY_NAME) {
                String name = json.currentName();
                JsonToken value = json.nextToken();
                if (name.equals("added_tokens")) {
                    for (JsonNode token : json.<JsonNode>readValueAsTree()) {
                        addAdded(token.path("id").asInt(-1), token.path("content").asString("").strip(), added);
                    }
                } else if (name.equals("model") && value == JsonToken.START_OBJECT) {
                    readModel(json, words);
                } else {
                    json.skipChildren();
                }
            }
        }
        words.removeIf(word -> added.containsKey(word.id()));
        return new KnownTokens(Stream.concat(spread(words), spread(added.values())).toList());
    }

    private static void addAdded(int id, String text, Map<Integer, Token> added) {
        boolean isPlain = text.chars().allMatch(c -> c >= ' ' && c <= '~');
        if (id >= 0 && !text.isEmpty() && text.length() <= LONGEST && isPlain) {
            added.put(id, new Token(id, text, /* isAdded */ true));
        }
    }

    private static void readModel(JsonParser json, List<Token> words) {
        while (json.nextToken() == JsonToken.PROPERTY_NAME) {
            boolean isVocabulary = json.currentName().equals("vocab");
            JsonToken value = json.nextToken();
            if (isVocabulary && value == JsonToken.START_OBJECT) {
                while (json.nextToken() == JsonToken.PROPERTY_NAME) {
                    String text = json.currentName();
                    if (json.nextToken() == JsonToken.VALUE_NUMBER_INT) {
                        addWord(json.getIntValue(), text, words);
                    } else {
                        json.skipChildren();
                    }
                }
            } else if (isVocabulary && value == JsonToken.START_ARRAY) {
                readPieces(json, words);
            } else {
                json.skipChildren();
            }
        }
    }

    /** Unigram's: each is an array of text and score, and its place is its id. */
    private static void readPieces(JsonParser json, List<Token> words) {
        for (int id = 0; json.nextToken() != JsonToken.END_ARRAY; id++) {
            if (json.currentToken() != JsonToken.START_ARRAY) {
                json.skipChildren();
                continue;
            }
            if (json.nextToken() == JsonToken.VALUE_STRING) {
                addWord(id, json.getString(), words);
            }
            while (json.currentToken() != JsonToken.END_ARRAY) {
                json.skipChildren();
                json.nextToken();
            }
        }
    }

    private static void addWord(int id, String text, List<Token> words) {
        @Nullable String word = word(text);
        if (id >= 0 && word != null) {
            words.add(new Token(id, word, /* isAdded */ false));
        }
    }

    private static @Nullable String word(String text) {
        String word = !text.isEmpty() && SPACES.indexOf(text.charAt(0)) >= 0 ? text.substring(1) : text;
        boolean isWord = word.length() >= SHORTEST_WORD && word.length() <= LONGEST
                && word.chars().allMatch(c -> c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z');
        return isWord ? word : null;
    }

    private static Stream<Token> spread(Collection<Token> all) {
        List<Token> sorted = all.stream().sorted(Comparator.comparingInt(Token::id)).toList();
        int count = Math.min(sorted.size(), MOST_OF_A_KIND);
        return IntStream.range(0, count)
                .mapToObj(i -> sorted.get(count == 1 ? 0 : (int) ((long) i * (sorted.size() - 1) / (count - 1))));
    }
}
