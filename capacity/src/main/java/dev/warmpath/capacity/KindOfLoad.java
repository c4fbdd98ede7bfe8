package dev.warmpath.capacity;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** Which share of its blocks a kind of load finds cached, as the literature on prefix caches has it. */
public enum KindOfLoad {

    CHATBOT("a chatbot with one system prompt", 0.92, 0.97),
    MULTI_TURN("conversations of several turns", 0.80, 0.95),
    RAG("questions about documents", 0.25, 0.40),
    CODE_COMPLETION("code completion", 0.15, 0.35),
    SUMMARIES("a batch of summaries", 0.08, 0.15),
    RANDOM("prompts with nothing in common", 0, 0.02);

    private final String text;
    private final double least;
    private final double most;

    KindOfLoad(String text, double least, double most) {
        this.text = text;
        this.least = least;
        this.most = most;
    }

    public String text() {
        return text;
    }

    /** Share of blocks, 0 to 1. */
    public double least() {
        return least;
    }

    public double most() {
        return most;
    }

    public boolean includes(double hitRate) {
        return hitRate >= least && hitRate <= most;
    }

    /** Which kinds have such a rate, in words. */
    public static String describe(double hitRate) {
        String kinds = Arrays.stream(values()).filter(kind -> kind.includes(hitRate)).map(kind ->
                String.format(Locale.ROOT, "%s (%.0f to %.0f %%)", kind.text, 100 * kind.least, 100 * kind.most))
                        .collect(Collectors.joining(", or "));
        return kinds.isEmpty() ? "no kind of load that is known by its hit rate" : kinds;
    }
}
