package dev.warmpath.worker.generate;

import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.worker.engine.Engine;
import dev.warmpath.worker.engine.Generation;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Flux;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import tools.jackson.databind.ObjectWriter;
import tools.jackson.databind.json.JsonMapper;

/**
 * {@code POST /v1/generate}: one generation, its events as NDJSON; and {@code DELETE /v1/generate/{handle}}, which ends
 * one early. Strangers do not come as far.
 */
@RestController
final class GenerateController {

    /** Encoding a few integers a token is little work; what counts is that the engine's thread does none of it. */
    private static final int SENDING_THREADS = 2;

    private final Engine engine;
    private final OpenStreams streams;
    private final ObjectWriter json;
    /** Those that are alive and have a name: as many as the engine takes, at most. */
    private final Map<String, Generation> named = new ConcurrentHashMap<>();
    private final Scheduler sending = Schedulers.newParallel("generate", SENDING_THREADS, true);

    GenerateController(Engine engine, OpenStreams streams, JsonMapper json) {
        this.engine = engine;
        this.streams = streams;
        this.json = json.writerFor(GenerateEvent.class);
    }

    /** Lines and not events, for Spring would flush those by groups: {@code docs/decisions/0005}. */
    @PostMapping(path = Protocol.GENERATE_PATH,
            consumes = MediaType.APPLICATION_JSON_VALUE, produces = MediaType.APPLICATION_NDJSON_VALUE)
    Flux<byte[]> generate(@RequestBody GenerateRequest request, ServerWebExchange exchange) {
        return Flux.defer(() -> {
            streams.enter(exchange);
            var stream = new TokenStream(sending.createWorker(), request.logprobs());
            Generation generation = engine.submit(request, stream);
            Flux<byte[]> lines = stream.events(() -> engine.cancel(generation)).map(this::line);
            String handle = request.handle();
            if (handle == null) {
                return lines;
            }
            named.put(handle, generation);
            return lines.doFinally(_ -> named.remove(handle, generation));
        });
    }

    private byte[] line(GenerateEvent event) {
        byte[] text = json.writeValueAsBytes(event);
        byte[] line = Arrays.copyOf(text, text.length + 1);
        line[text.length] = '\n';
        return line;
    }

    /** Answered at once; the generation's own stream tells its end. */
    @DeleteMapping(Protocol.GENERATE_PATH + "/{handle}")
    ResponseEntity<Void> stop(@PathVariable String handle) {
        Generation generation = named.get(handle);
        if (generation == null) {
            return ResponseEntity.notFound().build();
        }
        engine.stop(generation);
        return ResponseEntity.noContent().build();
    }
}
