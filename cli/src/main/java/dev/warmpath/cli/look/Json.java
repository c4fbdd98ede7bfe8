package dev.warmpath.cli.look;

import java.util.List;
import tools.jackson.core.json.JsonWriteFeature;

/** What {@code --json} writes: in ASCII, which every output can show. */
final class Json {

    private Json() {}

    static List<String> lines(Object value) {
        return HttpServer.JSON.writerWithDefaultPrettyPrinter().with(JsonWriteFeature.ESCAPE_NON_ASCII)
                .writeValueAsString(value).lines().toList();
    }
}
