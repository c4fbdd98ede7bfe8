package dev.warmpath.router.openai;

import static dev.warmpath.router.fields.FieldReader.invalid;

import dev.warmpath.protocol.generate.LogitRules;
import dev.warmpath.router.completion.BadRequestException;
import dev.warmpath.router.fields.FieldReader;
import dev.warmpath.router.fields.Place;
import java.util.Arrays;
import java.util.regex.Pattern;

/**
 * The value of {@code logit_bias}: {@code {"1734": -100, "31": 2.5}}.
 *
 * @param tokens at least 0 each, none twice
 * @param values of each of these, -100 to 100
 */
record LogitBias(int[] tokens, float[] values) {

    static final LogitBias NONE = new LogitBias(new int[0], new float[0]);

    /** Of no sign, no other script's digits, and no more of them than an id can have. */
    private static final Pattern ID = Pattern.compile("[0-9]{1,10}");

    static LogitBias read(FieldReader json, Place place) {
        if (!json.isObject()) {
            throw json.wrongType(place, "an object");
        }
        int[] tokens = new int[LogitRules.MAX_BIASES];
        float[] values = new float[LogitRules.MAX_BIASES];
        int count = 0;
        for (String name = json.nextField(); name != null; name = json.nextField()) {
            int token = token(name, place);
            float value = value(json, name, place);
            if (count < LogitRules.MAX_BIASES) {
                if (Arrays.stream(tokens, 0, count).anyMatch(other -> other == token)) {
                    throw invalid(place, "'" + place + "' names token " + token + " twice");
                }
                tokens[count] = token;
                values[count] = value;
            }
            count++;
        }
        if (count > LogitRules.MAX_BIASES) {
            throw invalid(place, "'" + place + "' has " + count + " tokens, at most " + LogitRules.MAX_BIASES
                    + " are taken");
        }
        return new LogitBias(Arrays.copyOf(tokens, count), Arrays.copyOf(values, count));
    }

    private static int token(String name, Place place) {
        if (ID.matcher(name).matches()) {
            long token = Long.parseLong(name);
            if (token <= Integer.MAX_VALUE) {
                return (int) token;
            }
        }
        throw invalid(place, "'" + place + "' names '" + BadRequestException.shown(name) + "', which is no token id");
    }

    private static float value(FieldReader json, String name, Place place) {
        if (!json.isNumber() || !(Math.abs(json.number()) <= LogitRules.MAX_BIAS)) {
            throw invalid(place, "'" + place + "' has for token " + name + " no number of -100 to 100");
        }
        return (float) json.number();
    }
}
