package dev.warmpath.router.http;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import tools.jackson.databind.json.JsonMapper;

/** Words one answer's server-sent events. What is added between two {@link #take}s is written together. */
public final class SseEvents {

    static final byte[] HEARTBEAT = bytes(": still at it\n\n");
    private static final byte[] DATA = bytes("data: ");
    private static final byte[] END_OF_EVENT = bytes("\n\n");

    private final JsonMapper json;
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    SseEvents(JsonMapper json) {
        this.json = json;
    }

    /** @param value what JSON is made of */
    public void addJson(Object value) {
        add(json.writeValueAsBytes(value));
    }

    /** @param line without a line break */
    public void addText(String line) {
        add(bytes(line));
    }

    /** What was added, and nothing of it is left. */
    public byte[] take() {
        byte[] events = out.toByteArray();
        out.reset();
        return events;
    }

    /** The last event of a stream that broke. */
    byte[] error(Throwable error) {
        out.reset();
        addJson(ApiError.of(error).body());
        return take();
    }

    private void add(byte[] data) {
        out.writeBytes(DATA);
        out.writeBytes(data);
        out.writeBytes(END_OF_EVENT);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
