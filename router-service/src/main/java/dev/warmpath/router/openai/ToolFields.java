package dev.warmpath.router.openai;

import static dev.warmpath.router.fields.FieldReader.invalid;

import dev.warmpath.router.completion.BadRequestException;
import dev.warmpath.router.completion.BadRequestException.Fault;
import dev.warmpath.router.completion.CompletionRequest.ToolUse;
import dev.warmpath.router.fields.FieldReader;
import dev.warmpath.router.fields.FieldValues;
import dev.warmpath.router.fields.Place;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What a chat says about tools: those that it offers, and calls of them in earlier answers. */
final class ToolFields {

    static final int MAX_TOOLS = 256;
    private static final int MAX_CALLS = 256;
    private static final String FUNCTION = "function";
    private static final String ARGUMENTS = "arguments";
    /** OpenAI's, and dots, which others use for groups of tools. */
    private static final Pattern NAME = Pattern.compile("[a-zA-Z0-9_.-]{1,64}");

    private ToolFields() {}

    /** As the template gets them: as they are. */
    static List<Map<String, @Nullable Object>> readTools(FieldReader json, Place place) {
        List<Map<String, @Nullable Object>> tools = readObjects(json, place, MAX_TOOLS);
        for (int i = 0; i < tools.size(); i++) {
            Place here = place.element(i);
            requireFunction(tools.get(i), here);
            Map<?, ?> function = objectOf(tools.get(i), FUNCTION, here);
            String name = textOf(function, "name", here.field(FUNCTION));
            if (!NAME.matcher(name).matches()) {
                throw invalid(here.field(FUNCTION).field("name"), "'" + here + ".function.name' is '"
                        + BadRequestException.shown(name) + "', a name has 1 to 64 letters, digits, '_', '-' and '.'");
            }
        }
        return tools;
    }

    /**
     * As templates expect them: what a call's arguments say, and not the text that they came in. A text that is no JSON
     * object is left as it is: a model may have written it, and its conversation can go on.
     */
    static List<Map<String, @Nullable Object>> readCalls(FieldReader json, Place place) {
        List<Map<String, @Nullable Object>> calls = readObjects(json, place, MAX_CALLS);
        for (int i = 0; i < calls.size(); i++) {
            Place here = place.element(i);
            requireFunction(calls.get(i), here);
            var function = new LinkedHashMap<String, @Nullable Object>(objectOf(calls.get(i), FUNCTION, here));
            textOf(function, "name", here.field(FUNCTION));
            if (function.get(ARGUMENTS) instanceof String text) {
                function.put(ARGUMENTS, text.isBlank() ? Map.of() : json.objectIn(text));
            }
            calls.get(i).put(FUNCTION, function);
        }
        return calls;
    }

    private static List<Map<String, @Nullable Object>> readObjects(FieldReader json, Place place, int maxCount) {
        if (!json.isList()) {
            throw json.wrongType(place, "an array");
        }
        var objects = new ArrayList<Map<String, @Nullable Object>>();
        int count = 0;
        while (json.nextElement()) {
            if (count++ < maxCount) {
                objects.add(json.anyObject(place.element(count - 1)));
            } else {
                json.skip();
            }
        }
        if (count > maxCount) {
            throw invalid(place, "'" + place + "' has " + count + " elements, at most " + maxCount + " are taken");
        }
        return objects;
    }

    private static void requireFunction(Map<String, ?> object, Place place) {
        String type = textOf(object, "type", place);
        if (!type.equals(FUNCTION)) {
            throw new BadRequestException(Fault.UNSUPPORTED_PARAMETER, place.field("type").toString(), "'" + place
                    + ".type' is '" + BadRequestException.shown(type) + "', only function is supported");
        }
    }

    @SuppressWarnings("unchecked")                                 // as FieldReader has read it
    private static Map<String, @Nullable Object> objectOf(Map<?, ?> object, String name, Place place) {
        if (object.get(name) instanceof Map<?, ?> inner) {
            return (Map<String, @Nullable Object>) inner;
        }
        throw wrong(object, name, place, "an object");
    }

    private static String textOf(Map<?, ?> object, String name, Place place) {
        if (object.get(name) instanceof String text) {
            return text;
        }
        throw wrong(object, name, place, "a string");
    }

    private static BadRequestException wrong(Map<?, ?> object, String name, Place place, String expected) {
        Place here = place.field(name);
        return object.get(name) == null
                ? new BadRequestException(Fault.MISSING_VALUE, here.toString(), "'" + here + "' is missing")
                : invalid(here, "'" + here + "' must be " + expected);
    }

    /** @return whether the model may call tools; that it must cannot be promised before outputs can be constrained */
    static Boolean readChoice(FieldReader json, Place place) {
        if (json.isText() && json.text().equals("auto")) {
            return true;
        }
        if (json.isText() && json.text().equals("none")) {
            return false;
        }
        if (json.isText() && json.text().equals("required") || json.isObject()) {
            throw new BadRequestException(Fault.UNSUPPORTED_PARAMETER, place.toString(), "'" + place
                    + "' is not supported (other than \"auto\" and \"none\"): the model cannot be made to call a tool");
        }
        throw json.isText() ? invalid(place, "'" + place + "' is '" + BadRequestException.shown(json.text())
                + "', it must be \"auto\" or \"none\"") : json.wrongType(place, "\"auto\" or \"none\"");
    }

    /** With {@code none} the template shows the tools all the same, so that the prompt begins as in other turns. */
    static ToolUse readUse(FieldValues body) {
        @Nullable List<Map<String, @Nullable Object>> tools = body.value(OpenAiFields.TOOLS);
        @Nullable Boolean mayCall = body.value(OpenAiFields.TOOL_CHOICE);
        if (tools == null || tools.isEmpty() || Boolean.FALSE.equals(mayCall)) {
            return ToolUse.NONE;
        }
        Set<String> names = tools.stream().map(tool -> ((Map<?, ?>) tool.get(FUNCTION)).get("name").toString())
                .collect(Collectors.toUnmodifiableSet());
        return new ToolUse(names, body.flag(OpenAiFields.PARALLEL_TOOL_CALLS) ? Integer.MAX_VALUE : 1);
    }
}
