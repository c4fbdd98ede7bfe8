package dev.warmpath.worker.foreign.event;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;

/** What real publishers sent, a few messages of each. */
public final class Messages {

    public record Message(String capture, byte[] topic, long sequence, byte[] payload) {

        EngineBatch decode() {
            return EngineEventDecoder.decode(payload);
        }
    }

    private static final String FILE = "/foreign/messages.txt";

    private Messages() {}

    static List<Message> all() {
        try (InputStream in = Objects.requireNonNull(Messages.class.getResourceAsStream(FILE), FILE)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8).lines()
                    .filter(line -> !line.startsWith("#")).map(Messages::message).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static List<Message> of(String capture) {
        return all().stream().filter(message -> message.capture().equals(capture)).toList();
    }

    private static Message message(String line) {
        String[] parts = line.split(" ");
        return new Message(parts[0], HexFormat.of().parseHex(parts[2]),
                ByteBuffer.wrap(HexFormat.of().parseHex(parts[3])).getLong(), HexFormat.of().parseHex(parts[4]));
    }
}
