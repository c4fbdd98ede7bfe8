package dev.warmpath.router.openai;

import dev.warmpath.router.completion.BadRequestException;
import dev.warmpath.router.completion.BadRequestException.Fault;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * One JSON object of a request, read field by field. A read checks type and range and throws
 * {@link BadRequestException} with the field's path; a field of null counts as absent. {@link #refuseUnread} comes
 * last, so that nothing a client wrote is silently ignored.
 */
final class RequestFields {

    private final JsonNode object;
    private final String path;
    private final Set<String> read = new HashSet<>();

    /** @param path of this object in the body with a trailing dot; empty for the body itself */
    private RequestFields(JsonNode object, String path) {
        this.object = object;
        this.path = path;
    }

    static RequestFields ofBody(JsonNode body) {
        if (!body.isObject()) {
            throw new BadRequestException(Fault.INVALID_JSON, null, "the body is not a JSON object but " + kind(body));
        }
        return new RequestFields(body, "");
    }

    /** The field as it stands, or null if it is absent. Marks it as read. */
    @Nullable JsonNode value(String name) {
        read.add(name);
        JsonNode value = object.get(name);
        return value == null || value.isNull() ? null : value;
    }

    boolean has(String name) {
        return object.hasNonNull(name);
    }

    String requiredText(String name) {
        String text = text(name);
        if (text == null) {
            throw missing(name);
        }
        return text;
    }

    @Nullable String text(String name) {
        JsonNode value = value(name);
        if (value == null) {
            return null;
        }
        return textOf(value, path + name);
    }

    boolean flag(String name, boolean absent) {
        JsonNode value = value(name);
        if (value == null) {
            return absent;
        }
        if (!value.isBoolean()) {
            throw wrongType(path + name, "true or false", value);
        }
        return value.booleanValue();
    }

    /** Both bounds included. */
    @Nullable Integer integer(String name, int min, int max) {
        JsonNode value = value(name);
        if (value == null) {
            return null;
        }
        return integerOf(value, path + name, min, max);
    }

    @Nullable Long longInteger(String name) {
        JsonNode value = value(name);
        if (value == null) {
            return null;
        }
        if (!value.isIntegralNumber()) {
            throw wrongType(path + name, "an integer", value);
        }
        if (!value.canConvertToLong()) {
            throw invalid(path + name, "'" + path + name + "' is " + value + ", which does not fit into 64 bits");
        }
        return value.longValue();
    }

    /** Both bounds included. */
    @Nullable Float number(String name, float min, float max) {
        JsonNode value = value(name);
        if (value == null) {
            return null;
        }
        if (!value.isNumber()) {
            throw wrongType(path + name, "a number", value);
        }
        double number = value.doubleValue();
        if (!(number >= min && number <= max)) {
            throw outside(path + name, value, min, max);
        }
        return (float) number;
    }

    /** A list of integers, or null; both bounds included. */
    int @Nullable [] integers(String name, int min, int max, int maxCount) {
        JsonNode value = value(name);
        return value == null ? null : integersOf(value, path + name, min, max, maxCount);
    }

    /** An object's own fields, or null. */
    @Nullable RequestFields object(String name) {
        JsonNode value = value(name);
        if (value == null) {
            return null;
        }
        if (!value.isObject()) {
            throw wrongType(path + name, "an object", value);
        }
        return new RequestFields(value, path + name + ".");
    }

    /** A list of objects with at least one and at most {@code maxCount} elements. */
    List<RequestFields> requiredObjects(String name, int maxCount) {
        JsonNode value = value(name);
        if (value == null) {
            throw missing(name);
        }
        if (!value.isArray()) {
            throw wrongType(path + name, "an array", value);
        }
        if (value.isEmpty() || value.size() > maxCount) {
            throw invalid(path + name, "'" + path + name + "' has " + value.size() + " elements, 1 to " + maxCount
                    + " are taken");
        }
        List<RequestFields> objects = new ArrayList<>(value.size());
        for (int i = 0; i < value.size(); i++) {
            String elementPath = path + name + "[" + i + "]";
            if (!value.get(i).isObject()) {
                throw wrongType(elementPath, "an object", value.get(i));
            }
            objects.add(new RequestFields(value.get(i), elementPath + "."));
        }
        return objects;
    }

    /** The path of one of this object's fields, for messages. */
    String path(String name) {
        return path + name;
    }

    /**
     * Refuses what no read has asked for: by one name what is known and not served, unless its value asks for nothing;
     * by another what nobody knows.
     */
    void refuseUnread(UnservedFields unserved) {
        for (var field : object.properties()) {
            String name = field.getKey();
            if (read.contains(name) || unserved.isNeutral(name, field.getValue())) {
                continue;
            }
            String fieldPath = path + BadRequestException.shown(name);
            throw unserved.knows(name)
                    ? new BadRequestException(Fault.UNSUPPORTED_PARAMETER, fieldPath, "'" + fieldPath
                            + "' is not supported" + unserved.exceptNeutral(name))
                    : new BadRequestException(Fault.UNKNOWN_PARAMETER, fieldPath, "'" + fieldPath
                            + "' is not a known field");
        }
    }

    static String textOf(JsonNode value, String path) {
        if (!value.isString()) {
            throw wrongType(path, "a string", value);
        }
        return value.stringValue();
    }

    static int integerOf(JsonNode value, String path, int min, int max) {
        if (!value.isIntegralNumber()) {
            throw wrongType(path, "an integer", value);
        }
        if (!value.canConvertToInt() || value.intValue() < min || value.intValue() > max) {
            throw outside(path, value, min, max);
        }
        return value.intValue();
    }

    static int[] integersOf(JsonNode value, String path, int min, int max, int maxCount) {
        if (!value.isArray()) {
            throw wrongType(path, "an array of integers", value);
        }
        if (value.size() > maxCount) {
            throw invalid(path, "'" + path + "' has " + value.size() + " elements, at most " + maxCount + " are taken");
        }
        int[] integers = new int[value.size()];
        int i = 0;
        for (JsonNode element : value) {
            // the fast way first: a prompt may have a hundred thousand ids, and the path is only for messages
            integers[i] = element.isInt() && element.intValue() >= min && element.intValue() <= max
                    ? element.intValue()
                    : integerOf(element, path + "[" + i + "]", min, max);
            i++;
        }
        return integers;
    }

    BadRequestException missing(String name) {
        return new BadRequestException(Fault.MISSING_VALUE, path + name, "'" + path + name + "' is missing");
    }

    static BadRequestException invalid(String path, String message) {
        return new BadRequestException(Fault.INVALID_VALUE, path, message);
    }

    static BadRequestException wrongType(String path, String expected, JsonNode value) {
        return invalid(path, "'" + path + "' must be " + expected + ", not " + kind(value));
    }

    private static BadRequestException outside(String path, JsonNode value, float min, float max) {
        return invalid(path, "'" + path + "' is " + value + ", which is outside " + plain(min) + " to " + plain(max));
    }

    private static BadRequestException outside(String path, JsonNode value, int min, int max) {
        boolean tooLarge = max == Integer.MAX_VALUE && !value.canConvertToInt();
        String bounds = max == Integer.MAX_VALUE ? "at least " + min + (tooLarge ? " and at most " + max : "")
                : min + " to " + max;
        return invalid(path, "'" + path + "' is " + value + ", it must be " + bounds);
    }

    /** 2 for 2.0. */
    private static String plain(float number) {
        return number == (int) number ? Integer.toString((int) number) : Float.toString(number);
    }

    private static String kind(JsonNode value) {
        return switch (value.getNodeType()) {
            case ARRAY -> "an array";
            case OBJECT, POJO -> "an object";
            case STRING, BINARY -> "a string";
            case NUMBER -> value.isIntegralNumber() ? "an integer" : "a number with a fraction";
            case BOOLEAN -> "a boolean";
            case NULL -> "null";
            case MISSING -> "nothing";
        };
    }
}
