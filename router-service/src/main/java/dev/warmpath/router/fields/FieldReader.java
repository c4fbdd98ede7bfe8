package dev.warmpath.router.fields;

import dev.warmpath.router.completion.BadRequestException;
import dev.warmpath.router.completion.BadRequestException.Fault;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.exc.StreamConstraintsException;
import tools.jackson.core.json.JsonFactory;

/**
 * Reads a body by its table, in one pass: each value goes from the parser into the {@link FieldValues} of its object, by
 * its field's type and range, and nothing else of the text is kept. Throws {@link BadRequestException} with the place of
 * what is wrong, and the parser's exception where the text is no JSON. What is known and not served is refused by one
 * name, unless it asks for nothing; by another what nobody knows, unless that is to be ignored. So nothing a client wrote
 * is silently ignored.
 */
public final class FieldReader {

    private static final int FEW_IDS = 64;
    /** Of what may hold anything, in a body and in the texts in it. */
    private static final int MAX_VALUES = 1 << 17;
    private static final int MAX_DEPTH = 64;
    private static final JsonFactory TEXTS = JsonFactory.builder().streamReadConstraints(
            StreamReadConstraints.builder().maxNestingDepth(MAX_DEPTH).build()).build();

    private final JsonParser json;
    private final @Nullable Consumer<Place> ignored;
    private int valuesLeft = MAX_VALUES;

    /** @param json at its beginning */
    public FieldReader(JsonParser json) {
        this(json, null);
    }

    /** @param ignored is told of each field that nobody knows; null: such a field is refused */
    public FieldReader(JsonParser json, @Nullable Consumer<Place> ignored) {
        this.json = json;
        this.ignored = ignored;
    }

    /** The whole text. */
    public FieldValues body(FieldTable table) throws JacksonException {
        JsonToken first = json.nextToken();
        if (first != JsonToken.START_OBJECT) {
            throw notABody(first == null ? "the body is empty" : "the body is not a JSON object but " + kind());
        }
        FieldValues body = object(table, null);
        if (json.nextToken() != null) {
            throw notABody("the body goes on after its end");
        }
        return body;
    }

    /** Whether the body has this field at its top, with another value than null. Of the text, only that is looked at. */
    public boolean bodyHas(Field field) throws JacksonException {
        if (json.nextToken() != JsonToken.START_OBJECT) {
            return false;
        }
        for (String name = json.nextName(); name != null; name = json.nextName()) {
            if (json.nextToken() != JsonToken.VALUE_NULL && name.equals(field.name())) {
                return true;
            }
            json.skipChildren();
        }
        return false;
    }

    private static BadRequestException notABody(String message) {
        return new BadRequestException(Fault.INVALID_JSON, null, message);
    }

    private FieldValues object(FieldTable table, @Nullable Place place) {
        var values = new FieldValues(table, place);
        for (String name = json.nextName(); name != null; name = json.nextName()) {
            FieldTable.Row row = table.named(name);
            if (row == null && ignored != null) {
                ignored.accept(Place.of(place, BadRequestException.shown(name)));
                json.nextToken();
                skip();
                continue;
            }
            if (row == null) {
                String unknown = Place.of(place, BadRequestException.shown(name)).toString();
                throw new BadRequestException(
                        Fault.UNKNOWN_PARAMETER, unknown, "'" + unknown + "' is not a known field");
            }
            Place here = Place.of(place, name);
            json.nextToken();
            boolean isFirst = values.set(row, isNull() ? null : value(row.field(), here));
            if (!isFirst) {
                throw new BadRequestException(Fault.INVALID_JSON, here.toString(), "'" + here + "' is there twice");
            }
        }
        return values;
    }

    private @Nullable Object value(Field field, Place place) {
        return switch (field) {
            case Field.Text _ -> text(place);
            case Field.Flag flag -> flag(flag, place);
            case Field.Whole whole -> integer(whole.min(), whole.max(), place);
            case Field.Whole64 _ -> integer64(place);
            case Field.Real real -> number(real, place);
            case Field.Ids ids -> ids(ids.maxCount(), place);
            case Field.Texts texts -> texts(texts, place);
            case Field.Nested nested -> nested(nested, place);
            case Field.Several several -> objects(several, place);
            case Field.Mixed<?> mixed -> mixed.reading().read(this, place);
            case Field.Unserved unserved -> {
                refuseUnlessNeutral(unserved, place);
                yield null;
            }
        };
    }

    private void refuseUnlessNeutral(Field.Unserved field, Place place) {
        if (!field.neutral().isNeutral(this)) {
            throw new BadRequestException(Fault.UNSUPPORTED_PARAMETER, place.toString(), "'" + place
                    + "' is not supported" + (field.takes().isEmpty() ? "" : " (other than " + field.takes() + ")"));
        }
    }

    // The value that the parser stands at, for fields whose type depends on it. Reading it leaves the parser at its end.

    public boolean isNull() {
        return json.currentToken() == JsonToken.VALUE_NULL;
    }

    public boolean isText() {
        return json.currentToken() == JsonToken.VALUE_STRING;
    }

    public boolean isList() {
        return json.currentToken() == JsonToken.START_ARRAY;
    }

    public boolean isObject() {
        return json.currentToken() == JsonToken.START_OBJECT;
    }

    public boolean isFlag() {
        return json.currentToken() == JsonToken.VALUE_TRUE || json.currentToken() == JsonToken.VALUE_FALSE;
    }

    public boolean isNumber() {
        return json.currentToken() == JsonToken.VALUE_NUMBER_INT || json.currentToken() == JsonToken.VALUE_NUMBER_FLOAT;
    }

    /** Of a list, to its next element. @return false at its end */
    public boolean nextElement() throws JacksonException {
        return json.nextToken() != JsonToken.END_ARRAY;
    }

    /** Of an object, to the value of its next field. @return that field's name, or null at its end */
    public @Nullable String nextField() throws JacksonException {
        String name = json.nextName();
        if (name != null) {
            json.nextToken();
        }
        return name;
    }

    /** Past what is in a list or an object. */
    public void skip() throws JacksonException {
        json.skipChildren();
    }

    public boolean flag() {
        return json.currentToken() == JsonToken.VALUE_TRUE;
    }

    public double number() throws JacksonException {
        return json.getDoubleValue();
    }

    public String text() throws JacksonException {
        return json.getString();
    }

    public String text(Place place) throws JacksonException {
        if (!isText()) {
            throw wrongType(place, "a string");
        }
        return text();
    }

    /** Whatever stands there: null, Boolean, Number, String, or lists and maps of such in their order. */
    public @Nullable Object any() throws JacksonException {
        if (--valuesLeft < 0) {
            throw new StreamConstraintsException("more values than are read");
        }
        return switch (json.currentToken()) {
            case START_OBJECT -> {
                var fields = new LinkedHashMap<String, @Nullable Object>();
                for (String name = nextField(); name != null; name = nextField()) {
                    fields.put(name, any());
                }
                yield fields;
            }
            case START_ARRAY -> {
                var elements = new ArrayList<@Nullable Object>();
                while (nextElement()) {
                    elements.add(any());
                }
                yield elements;
            }
            case VALUE_STRING -> text();
            case VALUE_NUMBER_INT -> json.getNumberValue();
            case VALUE_NUMBER_FLOAT -> number();
            case VALUE_TRUE, VALUE_FALSE -> flag();
            case null, default -> null;
        };
    }

    /** The same of an object. */
    @SuppressWarnings("unchecked")                                 // the names of JSON are strings
    public Map<String, @Nullable Object> anyObject(Place place) throws JacksonException {
        if (!isObject()) {
            throw wrongType(place, "an object");
        }
        return (Map<String, @Nullable Object>) Objects.requireNonNull(any());
    }

    /**
     * The object that a text is the JSON of, or the text if it is none, or if this body's texts have more in them than is
     * read: what is in one takes twenty times its characters.
     */
    public Object objectIn(String text) {
        try (JsonParser inner = TEXTS.createParser(ObjectReadContext.empty(), text)) {
            var reader = new FieldReader(inner, null);
            inner.nextToken();
            reader.valuesLeft = valuesLeft;
            @Nullable Object value = reader.isObject() ? reader.any() : null;
            boolean isWhole = value != null && inner.nextToken() == null;
            valuesLeft = reader.valuesLeft;
            return isWhole ? Objects.requireNonNull(value) : text;
        } catch (JacksonException e) {
            return text;
        }
    }

    /** Token ids, at least 0 each. */
    public int[] ids(int maxCount, Place place) throws JacksonException {
        if (!isList()) {
            throw wrongType(place, "an array of integers");
        }
        return nextElement() ? idsFromHere(maxCount, place) : new int[0];
    }

    /** The same of a list whose first element the parser has come to. */
    public int[] idsFromHere(int maxCount, Place place) throws JacksonException {
        var ids = new int[FEW_IDS];
        int count = 0;
        do {
            int id = integer(0, Integer.MAX_VALUE, place, count);
            if (count < maxCount) {
                ids = count < ids.length ? ids : Arrays.copyOf(ids, 2 * count);
                ids[count] = id;
            }
            count++;
        } while (nextElement());
        if (count > maxCount) {
            throw invalid(place, "'" + place + "' has " + count + " elements, at most " + maxCount + " are taken");
        }
        return Arrays.copyOf(ids, count);
    }

    public List<FieldValues> objects(Field.Several field, Place place) throws JacksonException {
        if (!isList()) {
            throw wrongType(place, "an array");
        }
        var objects = new ArrayList<FieldValues>();
        int count = 0;
        while (nextElement()) {
            if (count++ >= field.maxCount()) {
                skip();
                continue;
            }
            Place here = place.element(count - 1);
            if (!isObject()) {
                throw wrongType(here, "an object");
            }
            objects.add(object(field.fields(), here));
        }
        if (count == 0 || count > field.maxCount()) {
            throw invalid(place, "'" + place + "' has " + count + " elements, 1 to " + field.maxCount()
                    + " are taken");
        }
        return objects;
    }

    private boolean flag(Field.Flag field, Place place) {
        if (!isFlag()) {
            throw wrongType(place, field.takes());
        }
        return flag();
    }

    private int integer(int min, int max, Place place) {
        return integer(min, max, place, /* element */ -1);
    }

    /** @param element of the list that stands there, from 0; -1: the value is no element */
    private int integer(int min, int max, Place place, int element) {
        boolean isWhole = json.currentToken() == JsonToken.VALUE_NUMBER_INT;
        boolean fits = isWhole && json.getNumberType() == JsonParser.NumberType.INT;
        if (fits && json.getIntValue() >= min && json.getIntValue() <= max) {
            return json.getIntValue();
        }
        Place here = element < 0 ? place : place.element(element);
        if (!isWhole) {
            throw wrongType(here, "an integer");
        }
        throw invalid(here, "'" + here + "' is " + json.getString() + ", it must be at least " + min
                + (fits && max == Integer.MAX_VALUE ? "" : " and at most " + max));
    }

    private long integer64(Place place) {
        if (json.currentToken() != JsonToken.VALUE_NUMBER_INT) {
            throw wrongType(place, "an integer");
        }
        if (json.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
            throw invalid(place, "'" + place + "' is " + json.getString() + ", which does not fit into 64 bits");
        }
        return json.getLongValue();
    }

    private float number(Field.Real field, Place place) {
        if (!isNumber()) {
            throw wrongType(place, "a number");
        }
        double value = number();
        if (!field.takes(value)) {
            throw invalid(place, "'" + place + "' is " + json.getString() + ", " + field.refusal(value));
        }
        return (float) value;
    }

    private List<String> texts(Field.Texts field, Place place) {
        if (isText()) {
            return List.of(shortText(field, place));
        }
        if (!isList()) {
            throw wrongType(place, "a string or an array of strings");
        }
        var texts = new ArrayList<String>();
        int count = 0;
        while (nextElement()) {
            if (count++ < field.maxCount()) {
                texts.add(shortText(field, place.element(count - 1)));
            } else {
                skip();
            }
        }
        if (count > field.maxCount()) {
            throw invalid(place, "'" + place + "' has " + count + " strings, at most " + field.maxCount()
                    + " are taken");
        }
        return List.copyOf(texts);
    }

    private String shortText(Field.Texts field, Place place) {
        String text = text(place);
        if (text.isEmpty() || text.length() > field.maxChars()) {
            throw invalid(place, "'" + place + "' has " + text.length() + " characters, 1 to " + field.maxChars()
                    + " are taken");
        }
        return text;
    }

    private FieldValues nested(Field.Nested field, Place place) {
        if (!isObject()) {
            throw wrongType(place, field.takes());
        }
        return object(field.fields(), place);
    }

    public BadRequestException wrongType(Place place, String expected) {
        return invalid(place, "'" + place + "' must be " + expected + ", not " + kind());
    }

    public static BadRequestException invalid(Place place, String message) {
        return new BadRequestException(Fault.INVALID_VALUE, place.toString(), message);
    }

    private String kind() {
        return switch (json.currentToken()) {
            case START_ARRAY -> "an array";
            case START_OBJECT -> "an object";
            case VALUE_STRING -> "a string";
            case VALUE_NUMBER_INT -> "an integer";
            case VALUE_NUMBER_FLOAT -> "a number with a fraction";
            case VALUE_TRUE, VALUE_FALSE -> "a boolean";
            case VALUE_NULL -> "null";
            case null, default -> "nothing";
        };
    }
}
