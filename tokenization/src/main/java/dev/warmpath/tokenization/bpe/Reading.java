package dev.warmpath.tokenization.bpe;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.StringJoiner;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * What tokenizer.json asks for, taken apart key by key. Whatever is not known exactly, key or value, is not recognised:
 * an encoder that is nearly the library's routes to workers that hold nothing.
 */
final class Reading {
    private static final String GPT2 =
            "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
    private static final String ENDINGS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
    private static final String CL100K = ENDINGS + "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|%s"
            + "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    private static final String O200K = "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*"
            + "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+%1$s|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+"
            + "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*%1$s|%2$s| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

    /** Of DeepSeek V3, one after the other. */
    private static final List<String> DEEP_SEEK = List.of("\\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+",
            "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
            + "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+");

    /** Something that is not known; the message names it. */
    static final class UnknownException extends Exception {
        private static final long serialVersionUID = 1L;

        UnknownException(String what) {
            super(what, null, /* enableSuppression */ false, /* writableStackTrace */ false);
        }
    }

    private Reading() {}

    static void onlyKeys(String name, JsonNode object, Set<String> known) throws UnknownException {
        var unknown = new StringJoiner(", ");
        object.propertyNames().stream().filter(key -> !known.contains(key)).forEach(unknown::add);
        if (!object.isObject() || unknown.length() > 0) {
            throw new UnknownException(
                    name + (object.isObject() ? " has the unknown key " + unknown : " is no object"));
        }
    }

    static boolean flag(JsonNode object, String key, boolean absent) throws UnknownException {
        JsonNode value = object.path(key);
        if (!value.isBoolean() && !value.isMissingNode()) {
            throw new UnknownException(key + " is " + value);
        }
        return value.asBoolean(absent);
    }

    static boolean isAbsent(JsonNode value) {
        return value.isMissingNode() || value.isNull();
    }

    /** A pre-tokenizer: its pattern, and whether it puts a space before the text. */
    record Words(WordPattern pattern, boolean prefixSpace) {
        static Words of(JsonNode preTokenizer) throws UnknownException {
            List<JsonNode> steps = steps(preTokenizer, "pretokenizers");
            if (steps.size() == 1 && isByteLevel(steps.getFirst(), /* regex */ true)) {
                return new Words(new WordPattern.Gpt2(WordPattern.Digits.OF_PATTERN),
                        flag(steps.getFirst(), "add_prefix_space", true));
            }
            if (steps.size() > 1) {
                @Nullable WordPattern pattern = pattern(steps.subList(0, steps.size() - 1), steps.getLast());
                // a space would go before each word of the steps before
                if (pattern != null && !flag(steps.getLast(), "add_prefix_space", true)) {
                    return new Words(pattern, false);
                }
            }
            throw new UnknownException("the pre-tokenizer " + preTokenizer);
        }

        private static @Nullable WordPattern pattern(List<JsonNode> steps, JsonNode last) throws UnknownException {
            return switch (type(steps.getFirst())) {
                case "Digits" -> steps.size() == 1 && isByteLevel(last, /* regex */ true)
                        ? digits(steps.getFirst()) : null;
                case "Split" -> isByteLevel(last, /* regex */ false) ? splits(steps) : null;
                default -> null;
            };
        }

        private static WordPattern splits(List<JsonNode> steps) throws UnknownException {
            var regexes = new ArrayList<String>();
            for (JsonNode step : steps) {
                regexes.add(regex(step, /* gapless */ steps.size() == 1));
            }
            return regexes.equals(DEEP_SEEK) ? new WordPattern.DeepSeek3() : known(String.join(" then ", regexes));
        }

        private static WordPattern digits(JsonNode step) throws UnknownException {
            onlyKeys("Digits", step, Set.of("type", "individual_digits"));
            return new WordPattern.Gpt2(flag(step, "individual_digits", false)
                    ? WordPattern.Digits.SINGLES_APART : WordPattern.Digits.RUNS_APART);
        }

        /** @param gapless whether the pattern matches everywhere */
        private static String regex(JsonNode step, boolean gapless) throws UnknownException {
            onlyKeys("Split", step, Set.of("type", "pattern", "behavior", "invert"));
            onlyKeys("Split's pattern", step.path("pattern"), Set.of("Regex"));
            String behavior = step.path("behavior").asString("");
            // matches are the words, or what is between them is dropped: the same where nothing is between
            if (!(flag(step, "invert", false) ? gapless && behavior.equals("Removed") : behavior.equals("Isolated"))) {
                throw new UnknownException("the pre-tokenizer " + step);
            }
            return step.path("pattern").path("Regex").asString("");
        }

        private static boolean isByteLevel(JsonNode step, boolean regex) throws UnknownException {
            if (!type(step).equals("ByteLevel")) {
                return false;
            }
            onlyKeys("ByteLevel", step, Set.of("type", "add_prefix_space", "trim_offsets", "use_regex"));
            return flag(step, "use_regex", true) == regex;
        }
    }

    private static WordPattern known(String regex) throws UnknownException {
        if (regex.equals(GPT2)) {
            return new WordPattern.Gpt2(WordPattern.Digits.OF_PATTERN);
        }
        for (int maxDigits : new int[] {1, 3}) {
            String digits = maxDigits == 1 ? "\\p{N}" : "\\p{N}{1,3}";
            if (regex.equals(CL100K.formatted(digits))) {
                return new WordPattern.Cl100k(maxDigits);
            }
            if (regex.equals(O200K.formatted("", digits))) {
                return new WordPattern.O200k(maxDigits, /* contractions */ false);
            }
            if (regex.equals(O200K.formatted(ENDINGS + "?", digits))) {
                return new WordPattern.O200k(maxDigits, /* contractions */ true);
            }
        }
        throw new UnknownException("the pattern " + regex);
    }

    /** Whether a normalizer is NFC; the other known one is none. */
    static boolean composes(JsonNode normalizer) throws UnknownException {
        List<JsonNode> steps = isAbsent(normalizer) ? List.of() : steps(normalizer, "normalizers");
        if (steps.isEmpty()) {
            return false;
        }
        if (steps.size() > 1 || !type(steps.getFirst()).equals("NFC")) {
            throw new UnknownException("the normalizer " + normalizer);
        }
        onlyKeys("NFC", steps.getFirst(), Set.of("type"));
        return true;
    }

    /** Whether it puts one string for another, and does nothing else. */
    static boolean isReplace(JsonNode step, String before, String after) throws UnknownException {
        if (!type(step).equals("Replace")) {
            return false;
        }
        onlyKeys("Replace", step, Set.of("type", "pattern", "content"));
        onlyKeys("Replace's pattern", step.path("pattern"), Set.of("String"));
        return step.path("pattern").path("String").asString("").equals(before)
                && step.path("content").asString("").equals(after);
    }

    static List<JsonNode> steps(JsonNode step, String inner) throws UnknownException {
        if (!type(step).equals("Sequence")) {
            return List.of(step);
        }
        onlyKeys("Sequence", step, Set.of("type", inner));
        return List.copyOf(step.path(inner).values());
    }

    static String type(JsonNode node) {
        return node.path("type").asString("");
    }
}
