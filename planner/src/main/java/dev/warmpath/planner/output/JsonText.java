package dev.warmpath.planner.output;

import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/** Results for other programs: records as objects with names in snake_case, indented. */
public final class JsonText {

    private static final JsonMapper JSON = JsonMapper.builder()
            .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE).enable(SerializationFeature.INDENT_OUTPUT)
            .build();

    private JsonText() {}

    /** Without a line break at its end. */
    public static String of(Object result) {
        return JSON.writeValueAsString(result);
    }
}
