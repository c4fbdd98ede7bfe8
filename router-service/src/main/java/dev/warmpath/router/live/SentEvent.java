package dev.warmpath.router.live;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import tools.jackson.databind.json.JsonMapper;

/** Events as they are sent (WHATWG HTML, server-sent events): encoded once for all who watch. */
final class SentEvent {

    private static final byte[] DATA = "\ndata: ".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] END = "\n\n".getBytes(StandardCharsets.US_ASCII);

    private SentEvent() {}

    /** JSON as Jackson writes it has no line break, so one line of data is enough. */
    static byte[] of(String name, Object content, JsonMapper json) {
        var bytes = new ByteArrayOutputStream();
        bytes.writeBytes(("event: " + name).getBytes(StandardCharsets.US_ASCII));
        bytes.writeBytes(DATA);
        bytes.writeBytes(json.writeValueAsBytes(content));
        bytes.writeBytes(END);
        return bytes.toByteArray();
    }
}
