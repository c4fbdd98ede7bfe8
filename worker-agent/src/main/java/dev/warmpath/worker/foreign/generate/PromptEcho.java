package dev.warmpath.worker.foreign.generate;

import java.nio.charset.StandardCharsets;

/**
 * vLLM repeats the prompt's ids in the first event of an answer, and cannot be asked not to. Reading 100,000 of them
 * into a tree took 5 ms, in which no other answer is told; with them cut out it takes 0.4 ms.
 */
final class PromptEcho {

    private static final byte[] NAME = "\"prompt_token_ids\":[".getBytes(StandardCharsets.US_ASCII);
    /** What is shorter is read as quickly as searched. */
    private static final int SHORTEST = 4 << 10;

    private PromptEcho() {}

    /**
     * Empties the list in place. Quotes within texts are escaped in JSON, so nothing else looks like its name.
     *
     * @return how many of the bytes are left
     */
    static int cut(byte[] bytes, int from, int length) {
        int end = from + length;
        int name = length < SHORTEST ? -1 : find(bytes, from, end);
        if (name < 0) {
            return length;
        }
        int first = name + NAME.length;
        int close = first;
        while (close < end && bytes[close] != ']') {
            close++;
        }
        System.arraycopy(bytes, close, bytes, first, end - close);
        return length - (close - first);
    }

    private static int find(byte[] bytes, int from, int end) {
        for (int at = from; at <= end - NAME.length; at++) {
            int matched = 0;
            while (matched < NAME.length && bytes[at + matched] == NAME[matched]) {
                matched++;
            }
            if (matched == NAME.length) {
                return at;
            }
        }
        return -1;
    }
}
