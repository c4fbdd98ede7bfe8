package dev.warmpath.worker.foreign.generate;

import dev.warmpath.process.TestEngine;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;

/** Answers of real servers, as they were on the connection. */
public final class Captures {

    /** What {@code completions-ids-stream-return-token-ids-usage} and others of 0.32 were asked. */
    public static final int[] PROMPT = {29747, 36785, 30616, 29711, 33381, 38594, 12545, 12201, 33648, 31279, 12301, 6268,
        29367, 19983, 9392, 6042, 35403, 2844, 39122, 26062, 29787, 10421, 1083, 34727, 4239, 4002, 2436, 12565, 15955,
        39396, 2071, 30504, 21483, 28970, 38829, 12900, 34121, 15412, 19377, 32853};

    private Captures() {}

    /** @param name as {@code vllm-0.32/models} */
    static byte[] raw(String name) {
        try (InputStream file = Captures.class.getResourceAsStream("/foreign/" + name + ".http")) {
            return Objects.requireNonNull(file, name).readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static TestEngine.Answer answer(String name) {
        return TestEngine.captured(raw(name));
    }

    public static String body(String name) {
        String all = new String(raw(name), StandardCharsets.UTF_8);
        return all.substring(all.indexOf("\r\n\r\n") + 4);
    }

    /** The same body with the length that it has. */
    public static TestEngine.Answer page(String name) {
        return TestEngine.json(200, body(name));
    }

    /** A whole answer, or a stream to who asks for one. */
    public static TestEngine.Answer either(String whole, String stream) {
        return exchange -> answer(exchange.request().body().contains("\"stream\":true") ? stream : whole)
                .write(exchange);
    }

    /** An answer that breaks off: of its bytes so many come, then the connection is closed. */
    public static TestEngine.Answer beginning(String name, int bytes) {
        return TestEngine.captured(Arrays.copyOf(raw(name), bytes));
    }

    /** An answer whose bytes come a few at a time, so that no piece is one of the server's. */
    public static TestEngine.Answer inPieces(String name, int bytes) {
        return exchange -> {
            byte[] all = raw(name);
            for (int i = 0; i < all.length; i += bytes) {
                exchange.bytes(Arrays.copyOfRange(all, i, Math.min(i + bytes, all.length)));
            }
            exchange.hangUp();
        };
    }

    /** What a vLLM of 0.32 answers who asks how and what it is. */
    public static TestEngine vllm32() {
        return TestEngine.start()
                .answer("/v1/models", page("vllm-0.32/models"))
                .answer("/version", page("vllm-0.32/version"))
                .answer("/health", answer("vllm-0.32/health"))
                .answer("/metrics", page("vllm-0.32/metrics-before"))
                .answer("/kv_event_sources", page("vllm-0.32/kv-event-sources"));
    }

    /** The same of 0.20, which does not say where its events are. */
    public static TestEngine vllm20() {
        return TestEngine.start()
                .answer("/v1/models", page("vllm-0.20/models"))
                .answer("/version", page("vllm-0.20/version"))
                .answer("/health", answer("vllm-0.32/health"))
                .answer("/metrics", page("vllm-0.20/metrics"));
    }

    /** A server that takes text alone. */
    public static TestEngine llamaCppPython() {
        return TestEngine.start()
                .answer("/v1/models", page("llama-cpp-python-0.3/models"))
                .answer("/v1/completions", answer("llama-cpp-python-0.3/error-token-ids"));
    }
}
