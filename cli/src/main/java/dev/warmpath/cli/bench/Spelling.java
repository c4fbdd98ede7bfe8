package dev.warmpath.cli.bench;

import dev.warmpath.workload.Prompt;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.random.RandomGenerator;
import tools.jackson.databind.node.ObjectNode;

/**
 * How prompts are written for a server: a load's pieces are numbers, and each becomes the same tokens whenever it
 * comes, others with another seed. What a server has generated before stands in its own words.
 */
sealed interface Spelling {

    /** Words of everyday texts, one token each in most vocabularies. */
    List<String> WORDS = List.of("the", "of", "and", "to", "in", "that", "is", "was", "for", "on", "are", "with",
            "they", "be", "at", "one", "have", "this", "from", "by", "not", "but", "what", "all", "were", "when", "we",
            "there", "can", "an", "your", "which", "their", "said", "if", "do", "will", "each", "about", "how", "up",
            "out", "them", "then", "she", "many", "some", "so", "these", "would", "other", "into", "has", "more",
            "her", "two", "like", "him", "see", "time", "could", "no", "make", "than", "first", "been", "its", "who",
            "now", "people", "my", "made", "over", "did", "down", "only", "way", "find", "use", "may", "water", "long",
            "little", "very", "after", "words", "called", "just", "where", "most", "know", "get", "through", "back",
            "much", "before", "go", "good", "new", "write", "our", "used", "me", "man", "too", "any", "day", "same",
            "right", "look", "think", "also", "around", "another", "came", "come", "work", "three", "word", "must",
            "because", "does", "part", "even", "place", "well", "such");

    /** A text of some words, to learn how a server counts them. */
    static String sample(int words) {
        var text = new StringBuilder();
        for (int i = 0; i < words; i++) {
            text.append(' ').append(WORDS.get(i % WORDS.size()));
        }
        return text.toString();
    }

    /** One word for a report. */
    String text();

    /** Whether the ids of an answer are asked for where another turn follows. */
    boolean wantsIds();

    /** Begins a prompt. @param seed of the run: another one shares nothing with it */
    Writer writer(long seed);

    /** A prompt as it grows. */
    interface Writer {

        /** @param tokens how many of the piece's, from its first */
        void piece(long number, int tokens);

        void answer(Answer answer);

        void into(ObjectNode body);
    }

    private static RandomGenerator drawing(long seed, long number) {
        return new SplittableRandom(seed * 0x9e3779b97f4a7c15L + number);
    }

    /** Token ids. @param alphabet what prompts are made of: ids that the server's own tokenizer makes of words */
    record Ids(int[] alphabet) implements Spelling {

        @Override
        public String text() {
            return "ids";
        }

        @Override
        public boolean wantsIds() {
            return true;
        }

        @Override
        public Writer writer(long seed) {
            return new Writer() {

                private int[] ids = new int[256];
                private int length;

                @Override
                public void piece(long number, int tokens) {
                    RandomGenerator drawing = drawing(seed, number);
                    reserve(tokens);
                    for (int i = 0; i < tokens; i++) {
                        ids[length++] = alphabet[drawing.nextInt(alphabet.length)];
                    }
                }

                @Override
                public void answer(Answer answer) {
                    reserve(answer.ids().length);
                    System.arraycopy(answer.ids(), 0, ids, length, answer.ids().length);
                    length += answer.ids().length;
                }

                private void reserve(int more) {
                    if (length + more > ids.length) {
                        ids = Arrays.copyOf(ids, Math.max(length + more, 2 * ids.length));
                    }
                }

                @Override
                public void into(ObjectNode body) {
                    var prompt = body.putArray("prompt");
                    for (int i = 0; i < length; i++) {
                        prompt.add(ids[i]);
                    }
                }
            };
        }
    }

    /**
     * Words, for servers that take no ids.
     *
     * @param tokensPerWord as the server counted a sample
     */
    record Words(double tokensPerWord) implements Spelling {

        @Override
        public String text() {
            return "text";
        }

        @Override
        public boolean wantsIds() {
            return false;
        }

        @Override
        public Writer writer(long seed) {
            var text = new StringBuilder();
            return new Writer() {

                @Override
                public void piece(long number, int tokens) {
                    RandomGenerator drawing = drawing(seed, number);
                    int words = Math.max(1, (int) Math.round(tokens / tokensPerWord));
                    for (int i = 0; i < words; i++) {
                        text.append(' ').append(WORDS.get(drawing.nextInt(WORDS.size())));
                    }
                }

                @Override
                public void answer(Answer answer) {
                    text.append(answer.text());
                }

                @Override
                public void into(ObjectNode body) {
                    body.put("prompt", text.toString());
                }
            };
        }
    }
}
