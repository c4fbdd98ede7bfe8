package dev.warmpath.router.fields;

import java.util.List;

/**
 * One field of a JSON object. {@link Unserved} ones are refused unless their value asks for nothing; the others are
 * read by {@link FieldReader}, each by its type. A value of null counts as absent in all of them.
 */
public sealed interface Field {

    String name();

    /** Type and range, or of an unserved field the values that ask for nothing; in words, for readers of the API. */
    String takes();

    /** What counts where the field is absent, in words. */
    String absent();

    String REQUIRED = "required";

    /** A string. */
    record Text(String name, String absent) implements Field {

        public static Text required(String name) {
            return new Text(name, REQUIRED);
        }

        @Override
        public String takes() {
            return "a string";
        }
    }

    /** @param ifAbsent its value then */
    record Flag(String name, boolean ifAbsent) implements Field {

        @Override
        public String takes() {
            return "true or false";
        }

        @Override
        public String absent() {
            return Boolean.toString(ifAbsent);
        }
    }

    /** An integer from {@code min} to {@code max}. */
    record Whole(String name, int min, int max, String absent) implements Field {

        /** Of at least {@code min}. */
        public Whole(String name, int min, String absent) {
            this(name, min, Integer.MAX_VALUE, absent);
        }

        /** Any. */
        public Whole(String name, String absent) {
            this(name, Integer.MIN_VALUE, Integer.MAX_VALUE, absent);
        }

        @Override
        public String takes() {
            return "an integer" + (min == Integer.MIN_VALUE ? "" : max == Integer.MAX_VALUE ? ", at least " + min
                    : ", " + min + " to " + max);
        }
    }

    /** An integer of 64 bits. */
    record Whole64(String name, String absent) implements Field {

        @Override
        public String takes() {
            return "an integer of 64 bits";
        }
    }

    /**
     * A number.
     *
     * @param min lowest that is taken, or with {@code aboveMin} the highest that is too low
     * @param max highest that is taken
     */
    record Real(String name, float min, boolean aboveMin, float max, String absent) implements Field {

        @Override
        public String takes() {
            return "a number, " + (aboveMin ? "above " + plain(min) + " and at most " + plain(max) : range());
        }

        /** What is above 0 has to be so as a {@code float}, too. */
        boolean takes(double value) {
            return value >= (aboveMin ? min + Float.MIN_NORMAL : min) && value <= max;
        }

        String refusal(double value) {
            return value < min || value > max ? "which is outside " + range()
                    : "it must be above " + plain(min) + " and at most " + plain(max);
        }

        private String range() {
            return plain(min) + " to " + plain(max);
        }

        /** 2 for 2.0. */
        private static String plain(float number) {
            return number == (int) number ? Integer.toString((int) number) : Float.toString(number);
        }
    }

    /** Token ids, at least 0 each, at most {@code maxCount} of them. */
    record Ids(String name, int maxCount, String absent) implements Field {

        @Override
        public String takes() {
            return maxCount == Integer.MAX_VALUE ? "token ids" : "up to " + maxCount + " token ids";
        }
    }

    /** A string or up to {@code maxCount}, each of 1 to {@code maxChars} characters. */
    record Texts(String name, int maxCount, int maxChars, String absent) implements Field {

        @Override
        public String takes() {
            return "a string or up to " + maxCount + ", of 1 to " + maxChars + " characters";
        }
    }

    /** An object with fields of its own. */
    record Nested(String name, FieldTable fields, String absent) implements Field {

        @Override
        public String takes() {
            return "an object";
        }
    }

    /** Objects with fields of their own, 1 to {@code maxCount}. */
    record Several(String name, int maxCount, FieldTable fields) implements Field {

        @Override
        public String takes() {
            return "1 to " + maxCount + " objects";
        }

        @Override
        public String absent() {
            return REQUIRED;
        }
    }

    /** Of a type that depends on the value. */
    record Mixed<T>(String name, String takes, String absent, Reading<T> reading) implements Field {}

    /** Reads the value that the parser stands at, and leaves the parser at its end. */
    @FunctionalInterface
    interface Reading<T> {
        T read(FieldReader json, Place place);
    }

    /**
     * A field that clients know from elsewhere. Many write it with the value that asks for nothing, as {@code "n": 1}.
     *
     * @param neutral whether a value, not null, asks for nothing
     * @param takes   these values in words; empty if there are none
     */
    record Unserved(String name, Neutral neutral, String takes) implements Field {

        /** Looks at the value that the parser stands at; where it says yes, it leaves the parser at the value's end. */
        @FunctionalInterface
        public interface Neutral {
            boolean isNeutral(FieldReader json);
        }

        /** No value but null. */
        public static Unserved always(String name) {
            return new Unserved(name, _ -> false, "");
        }

        public static Unserved unless(String name, int neutral) {
            return new Unserved(name, json -> json.isNumber() && json.number() == neutral, Integer.toString(neutral));
        }

        public static Unserved unless(String name, boolean neutral) {
            return new Unserved(name, json -> json.isFlag() && json.flag() == neutral, Boolean.toString(neutral));
        }

        public static Unserved unlessOneOf(String name, String first, String second) {
            List<String> neutral = List.of(first, second);
            return new Unserved(name, json -> json.isText() && neutral.contains(json.text()),
                    "\"" + first + "\" and \"" + second + "\"");
        }

        /** A list or object without elements. */
        public static Unserved unlessEmpty(String name) {
            return new Unserved(name, json -> json.isList() ? !json.nextElement()
                    : json.isObject() && json.nextField() == null, "empty");
        }

        public static Unserved unlessEmptyString(String name) {
            return new Unserved(name, json -> json.isText() && json.text().isEmpty(), "\"\"");
        }

        /** Whatever it says, as long as it is of its type: it changes no answer. */
        public static Unserved unlessString(String name) {
            return new Unserved(name, FieldReader::isText, "a string");
        }

        /** As {@link #unlessString}. What is in it is not looked at, even if a name is there twice. */
        public static Unserved unlessObject(String name) {
            return new Unserved(name, json -> {
                boolean isObject = json.isObject();
                json.skip();
                return isObject;
            }, "an object");
        }

        /** As {@link #unlessString}. */
        public static Unserved unlessFlag(String name) {
            return new Unserved(name, FieldReader::isFlag, "true or false");
        }

        @Override
        public String absent() {
            return "nothing";
        }
    }
}
