package dev.warmpath.router.openai;

import dev.warmpath.router.fields.Field;
import dev.warmpath.router.fields.FieldTable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * Where a field of the tables stands in a body that is good but for it. Found by the tables themselves: a field that
 * comes into one has its place.
 *
 * @param path    as errors name it, {@code messages[0].role}
 * @param good    the body, in which the field need not be
 * @param marked  the same with {@link #MARK} as the field's value
 * @param without the same without the field
 */
record FieldPlace(String endpoint, String path, Field field, String good, String marked, String without) {

    private static final String VALUE = "<value>";
    private static final String MARK = "\"" + VALUE + "\"";

    /** Every place of every body, and of every object in one. */
    static List<FieldPlace> all() {
        var places = new ArrayList<FieldPlace>();
        find(places, "/v1/chat/completions", OpenAiFields.CHAT);
        find(places, "/v1/completions", OpenAiFields.TEXT);
        find(places, "/tokenize", OpenAiFields.TOKENIZE_CHAT);
        find(places, "/tokenize", OpenAiFields.TOKENIZE_TEXT);
        find(places, "/detokenize", OpenAiFields.DETOKENIZE);
        // messages there make it a body of the other table
        places.removeIf(place -> place.endpoint.equals("/tokenize") && place.path.equals("messages")
                && place.field instanceof Field.Unserved);
        return places;
    }

    /** A good body by this table. */
    private static ObjectNode good(FieldTable table) {
        List<String> names = table.fields().stream().filter(field -> !(field instanceof Field.Unserved))
                .map(Field::name).toList();
        ObjectNode body = JsonMapper.shared().createObjectNode().put("model", "tiny");
        if (names.contains("messages")) {
            body.putArray("messages").addObject().put("role", "user").put("content", "Hi");
        } else if (names.contains("prompt")) {
            body.put("prompt", "Hi");
        } else {
            body.putArray("tokens").add(1);
        }
        return names.contains("stream") ? body.put("stream", true) : body;   // what is about streams is taken then only
    }

    private static void find(List<FieldPlace> places, String endpoint, FieldTable table) {
        ObjectNode body = good(table);
        find(places, endpoint, "", table, body, body);
    }

    /** @param object in the body, with fields of this table; left as it was */
    private static void find(List<FieldPlace> places, String endpoint, String before, FieldTable table, ObjectNode body,
            ObjectNode object) {
        for (Field field : table.fields()) {
            String name = field.name();
            String goodBody = body.toString();
            @Nullable JsonNode was = object.get(name);
            object.put(name, VALUE);
            String marked = body.toString();
            object.remove(name);
            places.add(new FieldPlace(endpoint, before + name, field, goodBody, marked, body.toString()));
            switch (field) {
                case Field.Nested nested ->
                        find(places, endpoint, before + name + ".", nested.fields(), body, object.putObject(name));
                case Field.Several several -> findInList(places, endpoint, before, several, body, object, was);
                case Field.Mixed<?> _ when field == OpenAiFields.CONTENT ->
                        findInList(places, endpoint, before, OpenAiFields.PARTS, body, object, was);
                default -> { }
            }
            object.remove(name);
            if (was != null) {
                object.set(name, was);
            }
        }
    }

    private static void findInList(List<FieldPlace> places, String endpoint, String before, Field.Several list,
            ObjectNode body, ObjectNode object, @Nullable JsonNode was) {
        ObjectNode element = was != null && was.path(0) instanceof ObjectNode first ? first : required(list.fields());
        object.putArray(list.name()).add(element);
        find(places, endpoint, before + list.name() + "[0].", list.fields(), body, element);
    }

    /** With a text for all that must be there. */
    private static ObjectNode required(FieldTable table) {
        ObjectNode object = JsonMapper.shared().createObjectNode();
        table.fields().stream().filter(FieldPlace::isRequired).forEach(field -> object.put(field.name(), "text"));
        return object;
    }

    private static boolean isRequired(Field field) {
        return field.absent().startsWith(Field.REQUIRED);
    }

    boolean isRequired() {
        return isRequired(field);
    }

    /** Whether an error that blames this path blames the field, or what is in it. */
    boolean isBlamedBy(@Nullable String param) {
        return param != null && (param.equals(path) || param.startsWith(path + "[") || param.startsWith(path + "."));
    }

    String holding(String json) {
        return marked.replace(MARK, json);
    }

    /** @param members in place of this one */
    String replacedBy(String members) {
        return marked.replace("\"" + field.name() + "\":" + MARK, members);
    }

    /** Values that are outside what the field's type takes by one, on each side. @param vocabularySize the model's */
    List<String> justOutside(int vocabularySize) {
        return switch (field) {
            case Field.Whole whole -> List.of(Long.toString(whole.min() - 1L), Long.toString(whole.max() + 1L));
            case Field.Whole64 _ -> List.of("-9223372036854775809", "9223372036854775808");
            case Field.Real real -> List.of(Float.toString(real.aboveMin() ? real.min() : Math.nextDown(real.min())),
                    Float.toString(Math.nextUp(real.max())));
            case Field.Ids ids -> List.of("[-1]", "[1,2147483648]", "[1,%d]".formatted(vocabularySize),
                    // where there is no number of the table's, it is the model's
                    ids.maxCount() == Integer.MAX_VALUE ? "[-1,1]" : list("1", ids.maxCount() + 1));
            case Field.Texts texts -> List.of("\"\"", "[\"a\",\"\"]", "\"" + "a".repeat(texts.maxChars() + 1) + "\"",
                    list("\"a\"", texts.maxCount() + 1));
            case Field.Several several -> List.of("[]", list("{}", several.maxCount() + 1));
            case Field.Text _, Field.Flag _, Field.Nested _, Field.Mixed<?> _, Field.Unserved _ -> List.of();
        };
    }

    /** Whether the field takes no value of this JSON's type, whatever it says; false where only the field knows. */
    boolean refusesTypeOf(String json) {
        Type type = Type.of(json);
        return switch (field) {
            case Field.Text _ -> type != Type.TEXT;
            case Field.Flag _ -> type != Type.FLAG;
            case Field.Whole _, Field.Whole64 _ -> type != Type.WHOLE;
            case Field.Real _ -> type != Type.WHOLE && type != Type.FRACTION;
            case Field.Ids _, Field.Several _ -> type != Type.LIST;
            case Field.Texts _ -> type != Type.TEXT && type != Type.LIST;
            case Field.Nested _ -> type != Type.OBJECT;
            case Field.Mixed<?> _ -> false;
            case Field.Unserved unserved -> unserved.takes().isEmpty();
        };
    }

    private enum Type {
        TEXT, FLAG, WHOLE, FRACTION, LIST, OBJECT;

        static Type of(String json) {
            return switch (json.charAt(0)) {
                case '"' -> TEXT;
                case 't', 'f' -> FLAG;
                case '[' -> LIST;
                case '{' -> OBJECT;
                default -> json.matches("-?\\d+") ? WHOLE : FRACTION;
            };
        }
    }

    private static String list(String element, int count) {
        return "[" + String.join(",", Collections.nCopies(count, element)) + "]";
    }
}
