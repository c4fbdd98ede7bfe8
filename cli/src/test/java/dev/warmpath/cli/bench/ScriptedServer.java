package dev.warmpath.cli.bench;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A server of OpenAI's completions that says what a test wants, on a port of its own. */
final class ScriptedServer implements AutoCloseable {

    static final JsonMapper JSON = JsonMapper.builder().build();

    /** What is done with each completion but those that ask how the server wants to be asked. */
    interface Script {
        void answer(HttpExchange exchange, JsonNode request, int number) throws IOException;
    }

    final List<JsonNode> requests = new CopyOnWriteArrayList<>();
    private final HttpServer server;
    private final boolean takesIds;
    private final Script script;

    /** @param takesIds whether it has a tokenizer, and takes prompts of ids */
    ScriptedServer(boolean takesIds, int contextTokens, Script script) throws IOException {
        this.takesIds = takesIds;
        this.script = script;
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        server.createContext("/v1/models", exchange -> write(exchange, 200, "application/json",
                "{\"data\":[{\"id\":\"small\",\"max_model_len\":" + contextTokens + "}]}"));
        server.createContext("/tokenize", exchange -> write(exchange, takesIds ? 200 : 404, "application/json",
                "{\"tokens\":" + IntStream.range(100, 200).boxed().toList() + "}"));
        server.createContext("/v1/completions", this::complete);
        server.start();
    }

    URI url() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    private void complete(HttpExchange exchange) throws IOException {
        JsonNode request = JSON.readTree(exchange.getRequestBody().readAllBytes());
        JsonNode prompt = request.path("prompt");
        boolean asking = prompt.size() == 32 || prompt.asString("").equals(Spelling.sample(64));
        if (prompt.isArray() && !takesIds) {
            write(exchange, 400, "application/json", "{\"error\":{\"message\":\"a text, please\"}}");
        } else if (asking) {
            stream(exchange, chunk("x", 7) + finish(64, 0, 1));
        } else {
            int number;
            synchronized (requests) {
                requests.add(request);
                number = requests.size();
            }
            script.answer(exchange, request, number);
        }
    }

    /** The whole of an answer at once. */
    static void stream(HttpExchange exchange, String events) {
        write(exchange, 200, "text/event-stream", events);
    }

    static void write(HttpExchange exchange, int status, String type, String body) {
        try (exchange) {
            byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("content-type", type);
            exchange.sendResponseHeaders(status, bytes.length);
            exchange.getResponseBody().write(bytes);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Begins an answer that the script goes on with, or leaves. */
    static OutputStream begin(HttpExchange exchange) throws IOException {
        exchange.sendResponseHeaders(200, 0);
        return exchange.getResponseBody();
    }

    static String chunk(String text, int id) {
        return "data: {\"choices\":[{\"text\":\"" + text + "\",\"token_ids\":[" + id
                + "],\"finish_reason\":null}]}\n\n";
    }

    static String finish(int promptTokens, int cachedTokens, int completionTokens) {
        return "data: {\"choices\":[{\"text\":\"\",\"finish_reason\":\"length\"}]}\n\ndata: {\"choices\":[],\"usage\":"
                + "{\"prompt_tokens\":" + promptTokens + ",\"completion_tokens\":" + completionTokens
                + ",\"prompt_tokens_details\":{\"cached_tokens\":" + cachedTokens + "}}}\n\ndata: [DONE]\n\n";
    }

    @Override
    public void close() {
        server.stop(0);
    }
}
