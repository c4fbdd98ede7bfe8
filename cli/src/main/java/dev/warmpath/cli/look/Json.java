package dev.warmpath.cli.look;

import java.util.List;

/** What {@code --json} writes. */
final class Json {

    private Json() {}

    static List<String> lines(Object value) {
        return HttpServer.JSON.writerWithDefaultPrettyPrinter().writeValueAsString(value).lines().toList();
    }
}
