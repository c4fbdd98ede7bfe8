package dev.warmpath.planner.trace;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** Looks at fields of a line, and says what is wrong with one. */
final class Fields {

    /** Of a prompt: more than any model of today takes. */
    static final int MOST_TOKENS = 2_000_000;
    /** Milliseconds, some thirty thousand years. */
    private static final double MOST_MILLIS = 1e15;

    /** A line is not what it should be; becomes a {@link TraceException} where file and number are known. */
    static final class WrongException extends RuntimeException {

        private static final long serialVersionUID = 1;

        WrongException(String sentence) {
            super(sentence);
        }
    }

    private Fields() {}

    static JsonNode required(JsonNode line, String field) {
        JsonNode value = line.path(field);
        if (value.isMissingNode() || value.isNull()) {
            throw new WrongException(field + " is missing");
        }
        return value;
    }

    /** A whole number within bounds. */
    static int count(JsonNode line, String field, int least, int most) {
        JsonNode value = required(line, field);
        if (!value.isIntegralNumber() || !value.canConvertToLong() || value.longValue() < least
                || value.longValue() > most) {
            throw new WrongException(field + " is a whole number from " + least + " to " + most + ", not "
                    + shown(value));
        }
        return value.intValue();
    }

    /** @return milliseconds of a number that counts others. @param millisPerUnit how many one of it has */
    static double millis(JsonNode value, String field, double millisPerUnit) {
        double millis = value.isNumber() ? value.doubleValue() * millisPerUnit : Double.NaN;
        if (!(millis >= 0 && millis <= MOST_MILLIS)) {
            throw new WrongException(field + " is a time, 0 or more, not " + shown(value));
        }
        return millis;
    }

    /** The first of these fields that is there. */
    static @Nullable String first(JsonNode line, String... fields) {
        for (String field : fields) {
            if (line.hasNonNull(field)) {
                return field;
            }
        }
        return null;
    }

    /** The begin of it, for a sentence. */
    static String shown(JsonNode value) {
        String text = value.isContainer() ? value.isArray() ? "an array" : "an object" : value.toString();
        return text.length() <= 40 ? text : text.substring(0, 40) + "…";
    }
}
