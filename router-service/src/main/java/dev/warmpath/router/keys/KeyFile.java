package dev.warmpath.router.keys;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Who may use the public API, as text: a line for each key.
 * <pre>
 * # name  hash of the key                                                         what it may do
 * team-a  sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08  requests-per-minute=60
 * ops     sha256:60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752  operator
 * </pre>
 * Messages say which line is wrong, and nothing of what is in it: somebody may have written a key there.
 */
final class KeyFile {

    private static final int MAX_KEYS = 1_000;
    private static final int MAX_BYTES = 256 << 10;
    private static final String OPERATOR = "operator";
    private static final String REQUESTS = "requests-per-minute=";
    private static final String TOKENS = "tokens-per-minute=";

    private KeyFile() {}

    /** A line. */
    record Key(KeyHash hash, Grant grant) {

        @Override
        public String toString() {
            return grant.name() + "  " + hash + (grant.isOperator() ? "  " + OPERATOR : "")
                    + limit(REQUESTS, grant.requestsPerMinute()) + limit(TOKENS, grant.tokensPerMinute());
        }

        private static String limit(String word, int perMinute) {
            return perMinute == Grant.NO_LIMIT ? "" : "  " + word + perMinute;
        }
    }

    /**
     * Reads the bytes of a file, and does not look into them.
     *
     * @throws IOException              if there is none, or it cannot be read
     * @throws IllegalArgumentException if it is longer than a file of keys may be
     */
    static byte[] bytes(Path file) throws IOException {
        try (InputStream in = Files.newInputStream(file)) {
            byte[] bytes = in.readNBytes(MAX_BYTES + 1);
            if (bytes.length > MAX_BYTES) {
                throw new IllegalArgumentException("it is longer than " + MAX_BYTES + " bytes");
            }
            return bytes;
        }
    }

    /** @throws IllegalArgumentException if a line is none, or lines of one name contradict each other */
    static List<Key> parse(byte[] bytes) {
        List<Key> keys = new ArrayList<>();
        Map<String, Grant> named = new HashMap<>();
        int number = 0;
        for (String line : new String(bytes, StandardCharsets.UTF_8).split("\r?\n", -1)) {
            number++;
            String text = line.strip();
            if (!text.isEmpty() && !text.startsWith("#")) {
                try {
                    add(keys, named, parseLine(text));
                } catch (IllegalArgumentException e) {
                    throw new IllegalArgumentException("line " + number + ": " + e.getMessage(), e);
                }
            }
        }
        return keys;
    }

    private static void add(List<Key> keys, Map<String, Grant> named, Key key) {
        if (keys.size() == MAX_KEYS) {
            throw new IllegalArgumentException("there may be " + MAX_KEYS + " keys");
        }
        Grant before = named.putIfAbsent(key.grant().name(), key.grant());
        if (before != null && !before.equals(key.grant())) {
            throw new IllegalArgumentException("keys of one name may do the same, and an earlier one may not");
        }
        if (keys.stream().anyMatch(other -> other.hash().isSame(key.hash()))) {
            throw new IllegalArgumentException("the same key is there before");
        }
        keys.add(key);
    }

    private static Key parseLine(String text) {
        String[] words = text.split("\\s+");
        if (words.length < 2) {
            throw new IllegalArgumentException("a line has a name and a hash");
        }
        return new Key(KeyHash.parse(words[1]), grant(words[0], Arrays.asList(words).subList(2, words.length)));
    }

    /** @param words what comes behind the hash, in any order */
    private static Grant grant(String name, List<String> words) {
        boolean isOperator = false;
        int requests = Grant.NO_LIMIT;
        int tokens = Grant.NO_LIMIT;
        for (String word : words) {
            if (word.equals(OPERATOR)) {
                isOperator = true;
            } else if (word.startsWith(REQUESTS) && requests == Grant.NO_LIMIT) {
                requests = limit(word.substring(REQUESTS.length()));
            } else if (word.startsWith(TOKENS) && tokens == Grant.NO_LIMIT) {
                tokens = limit(word.substring(TOKENS.length()));
            } else {
                throw new IllegalArgumentException("behind the hash come '" + OPERATOR + "', '" + REQUESTS + "N' and '"
                        + TOKENS + "N', each once");
            }
        }
        return new Grant(name, isOperator, requests, tokens);
    }

    /** @throws IllegalArgumentException if it is no number of the range; 0 would let nobody in, or everybody */
    static int limit(String digits) {
        if (digits.matches("[1-9][0-9]{0,9}") && Long.parseLong(digits) <= Grant.MOST_PER_MINUTE) {
            return Integer.parseInt(digits);
        }
        throw new IllegalArgumentException("a limit is 1 to " + Grant.MOST_PER_MINUTE + " a minute");
    }
}
