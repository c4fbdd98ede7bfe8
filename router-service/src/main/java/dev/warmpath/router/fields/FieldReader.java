package dev.warmpath.router.fields;

import dev.warmpath.router.completion.BadRequestException;
import dev.warmpath.router.completion.BadRequestException.Fault;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * One JSON object of a request, read field by field. A read checks type and range and throws
 * {@link BadRequestException} with the field's path. {@link #refuseOthers} comes last; each served field of the table
 * has to be read before, so that nothing a client wrote is silently ignored.
 */
public final class FieldReader {

    private final JsonNode object;
    private final FieldTable table;
    private final String path;

    /** @param path of this object in the body with a trailing dot; empty for the body itself */
    private FieldReader(JsonNode object, FieldTable table, String path) {
        this.object = object;
        this.table = table;
        this.path = path;
    }

    public static FieldReader ofBody(JsonNode body, FieldTable table) {
        if (!body.isObject()) {
            throw new BadRequestException(Fault.INVALID_JSON, null, "the body is not a JSON object but " + kind(body));
        }
        return new FieldReader(body, table, "");
    }

    /** The field as it stands, or null if it is absent. */
    public @Nullable JsonNode value(Field.Mixed field) {
        return valueOf(field);
    }

    public @Nullable String text(Field.Text field) {
        JsonNode value = valueOf(field);
        return value == null ? null : textOf(value, path(field));
    }

    public String requiredText(Field.Text field) {
        String text = text(field);
        if (text == null) {
            throw missing(field);
        }
        return text;
    }

    public boolean flag(Field.Flag field) {
        JsonNode value = valueOf(field);
        if (value == null) {
            return field.ifAbsent();
        }
        if (!value.isBoolean()) {
            throw wrongType(path(field), field.takes(), value);
        }
        return value.booleanValue();
    }

    public @Nullable Integer integer(Field.Whole field) {
        JsonNode value = valueOf(field);
        return value == null ? null : integerOf(value, path(field), field.min());
    }

    public @Nullable Long integer(Field.Whole64 field) {
        JsonNode value = valueOf(field);
        if (value == null) {
            return null;
        }
        if (!value.isIntegralNumber()) {
            throw wrongType(path(field), "an integer", value);
        }
        if (!value.canConvertToLong()) {
            throw invalid(path(field), "'" + path(field) + "' is " + value + ", which does not fit into 64 bits");
        }
        return value.longValue();
    }

    public @Nullable Float number(Field.Real field) {
        JsonNode value = valueOf(field);
        if (value == null) {
            return null;
        }
        if (!value.isNumber()) {
            throw wrongType(path(field), "a number", value);
        }
        if (!field.takes(value.doubleValue())) {
            throw invalid(path(field), "'" + path(field) + "' is " + value + ", " + field.refusal(value.doubleValue()));
        }
        return (float) value.doubleValue();
    }

    /** Empty if there are none. */
    public int[] ids(Field.Ids field) {
        JsonNode value = valueOf(field);
        if (value != null) {
            return idsOf(value, path(field), field.maxCount());
        }
        if (field.absent().equals(Field.REQUIRED)) {
            throw missing(field);
        }
        return new int[0];
    }

    /** Empty if there are none. */
    public List<String> texts(Field.Texts field) {
        JsonNode value = valueOf(field);
        if (value == null) {
            return List.of();
        }
        if (value.isString()) {
            return List.of(textOf(value, path(field), field.maxChars()));
        }
        if (!value.isArray()) {
            throw wrongType(path(field), "a string or an array of strings", value);
        }
        if (value.size() > field.maxCount()) {
            throw invalid(path(field), "'" + path(field) + "' has " + value.size() + " strings, at most "
                    + field.maxCount() + " are taken");
        }
        List<String> texts = new ArrayList<>();
        for (int i = 0; i < value.size(); i++) {
            texts.add(textOf(value.get(i), path(field) + "[" + i + "]", field.maxChars()));
        }
        return List.copyOf(texts);
    }

    public @Nullable FieldReader object(Field.Nested field) {
        JsonNode value = valueOf(field);
        if (value == null) {
            return null;
        }
        if (!value.isObject()) {
            throw wrongType(path(field), field.takes(), value);
        }
        return new FieldReader(value, field.fields(), path(field) + ".");
    }

    public List<FieldReader> objects(Field.Several field) {
        JsonNode value = valueOf(field);
        if (value == null) {
            throw missing(field);
        }
        if (!value.isArray()) {
            throw wrongType(path(field), "an array", value);
        }
        return objectsOf(value, path(field), field);
    }

    /** Elements of a list that stands where something else could, too. @param path of the list */
    public static List<FieldReader> objectsOf(JsonNode list, String path, Field.Several field) {
        if (list.isEmpty() || list.size() > field.maxCount()) {
            throw invalid(path, "'" + path + "' has " + list.size() + " elements, 1 to " + field.maxCount()
                    + " are taken");
        }
        List<FieldReader> objects = new ArrayList<>(list.size());
        for (int i = 0; i < list.size(); i++) {
            String elementPath = path + "[" + i + "]";
            if (!list.get(i).isObject()) {
                throw wrongType(elementPath, "an object", list.get(i));
            }
            objects.add(new FieldReader(list.get(i), field.fields(), elementPath + "."));
        }
        return objects;
    }

    /** Where the field is in the body, for messages. */
    public String path(Field field) {
        return path + field.name();
    }

    /** Refuses by one name what is known and not served, unless it asks for nothing; by another what nobody knows. */
    public void refuseOthers() {
        for (var property : object.properties()) {
            switch (table.named(property.getKey())) {
                case null -> {
                    String unknown = path + BadRequestException.shown(property.getKey());
                    throw new BadRequestException(
                            Fault.UNKNOWN_PARAMETER, unknown, "'" + unknown + "' is not a known field");
                }
                case Field.Unserved unserved when !isNeutral(unserved, property.getValue()) ->
                    throw new BadRequestException(Fault.UNSUPPORTED_PARAMETER, path(unserved),
                            "'" + path(unserved) + "' is not supported"
                                    + (unserved.takes().isEmpty() ? "" : " (other than " + unserved.takes() + ")"));
                case Field _ -> { }
            }
        }
    }

    private static boolean isNeutral(Field.Unserved field, JsonNode value) {
        return value.isNull() || field.neutral().test(value);
    }

    private @Nullable JsonNode valueOf(Field field) {
        JsonNode value = object.get(field.name());
        return value == null || value.isNull() ? null : value;
    }

    private static String textOf(JsonNode value, String path, int maxChars) {
        String text = textOf(value, path);
        if (text.isEmpty() || text.length() > maxChars) {
            throw invalid(path, "'" + path + "' has " + text.length() + " characters, 1 to " + maxChars
                    + " are taken");
        }
        return text;
    }

    private static String textOf(JsonNode value, String path) {
        if (!value.isString()) {
            throw wrongType(path, "a string", value);
        }
        return value.stringValue();
    }

    /** Token ids, at least 0 each. */
    public static int[] idsOf(JsonNode value, String path, int maxCount) {
        if (!value.isArray()) {
            throw wrongType(path, "an array of integers", value);
        }
        if (value.size() > maxCount) {
            throw invalid(path, "'" + path + "' has " + value.size() + " elements, at most " + maxCount + " are taken");
        }
        int[] ids = new int[value.size()];
        int i = 0;
        for (JsonNode element : value) {
            // the fast way first: a prompt may have a hundred thousand ids, and the path is only for messages
            ids[i] = element.isInt() && element.intValue() >= 0
                    ? element.intValue()
                    : integerOf(element, path + "[" + i + "]", 0);
            i++;
        }
        return ids;
    }

    private static int integerOf(JsonNode value, String path, int min) {
        if (!value.isIntegralNumber()) {
            throw wrongType(path, "an integer", value);
        }
        boolean fits = value.canConvertToInt();
        if (!fits || value.intValue() < min) {
            throw invalid(path, "'" + path + "' is " + value + ", it must be at least " + min
                    + (fits ? "" : " and at most " + Integer.MAX_VALUE));
        }
        return value.intValue();
    }

    public BadRequestException missing(Field field) {
        return new BadRequestException(Fault.MISSING_VALUE, path(field), "'" + path(field) + "' is missing");
    }

    public static BadRequestException invalid(String path, String message) {
        return new BadRequestException(Fault.INVALID_VALUE, path, message);
    }

    public static BadRequestException wrongType(String path, String expected, JsonNode value) {
        return invalid(path, "'" + path + "' must be " + expected + ", not " + kind(value));
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
