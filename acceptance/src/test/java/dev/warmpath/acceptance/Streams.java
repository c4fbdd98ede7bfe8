package dev.warmpath.acceptance;

import java.util.List;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Reading the data lines of a streamed chat. */
final class Streams {

    private static final JsonMapper JSON = JsonMapper.builder().build();

    private Streams() {}

    /** The text of the first choice, put together. */
    static String text(List<String> events) {
        var text = new StringBuilder();
        for (String event : events) {
            if (!event.equals("[DONE]")) {
                JsonNode choice = JSON.readTree(event).path("choices").path(0);
                text.append(choice.path("delta").path("content").asString(""));
            }
        }
        return text.toString();
    }
}
