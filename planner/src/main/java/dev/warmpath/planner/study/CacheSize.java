package dev.warmpath.planner.study;

import dev.warmpath.planner.load.Survey;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** How much a worker's cache holds. */
public sealed interface CacheSize {

    /** Of no cache at all. */
    String OFF = "off";

    /** As it was asked for. */
    String text();

    /** Blocks of each worker's pool that prompts and answers can take, at least 1. */
    long blocks(Survey survey, int workers);

    /** False: no prefix is reused, blocks serve the requests that run. */
    default boolean reuses() {
        return true;
    }

    /** Workers without prefix caching: what it is worth is the difference to a fleet with it. */
    record Off() implements CacheSize {

        private static final Tokens POOL = new Tokens(400_000);

        @Override
        public String text() {
            return OFF;
        }

        @Override
        public long blocks(Survey survey, int workers) {
            return Math.max(POOL.blocks(survey, workers), survey.longestBlocks());
        }

        @Override
        public boolean reuses() {
            return false;
        }
    }

    /** A part of the load's different blocks, by all workers together. @param percent above 0 */
    record Share(double percent) implements CacheSize {

        @Override
        public String text() {
            return (percent == Math.rint(percent) ? Long.toString((long) percent) : Double.toString(percent)) + "%";
        }

        @Override
        public long blocks(Survey survey, int workers) {
            return Math.max(1, (long) Math.ceil(survey.distinctBlocks() * percent / 100 / workers));
        }
    }

    /** Of each worker. @param tokens at least 1 */
    record Tokens(long tokens) implements CacheSize {

        @Override
        public String text() {
            return tokens % 1_000_000 == 0 ? tokens / 1_000_000 + "M" : tokens % 1_000 == 0 ? tokens / 1_000 + "k"
                    : Long.toString(tokens);
        }

        @Override
        public long blocks(Survey survey, int workers) {
            return Math.max(1, tokens / survey.blockTokens());
        }
    }

    /**
     * @param text {@code off}, {@code 10%}, or tokens of each worker as {@code 400k}, {@code 2M} or {@code 65536}
     * @throws IllegalArgumentException in a sentence, if it is none of these
     */
    static CacheSize of(String text) {
        if (text.strip().equalsIgnoreCase(OFF)) {
            return new Off();
        }
        Matcher form = Pattern.compile("([0-9]{1,12}(?:\\.[0-9]{1,6})?)(%|[kKmM])?").matcher(text.strip());
        if (!form.matches()) {
            throw new IllegalArgumentException(refusal(text));
        }
        double number = Double.parseDouble(form.group(1));
        String unit = form.group(2) == null ? "" : form.group(2).toLowerCase(Locale.ROOT);
        double tokens = number * (unit.equals("k") ? 1e3 : unit.equals("m") ? 1e6 : 1);
        if (number <= 0 || unit.equals("%") && number > 1_000 || !unit.equals("%") && (tokens < 1 || tokens > 1e12)) {
            throw new IllegalArgumentException(refusal(text));
        }
        return unit.equals("%") ? new Share(number) : new Tokens((long) tokens);
    }

    private static String refusal(String text) {
        return "a cache is so many tokens of each worker, such as 400k or 2M, or a part of the load's different"
                + " blocks, such as 10%, or off, not '" + text + "'";
    }
}
