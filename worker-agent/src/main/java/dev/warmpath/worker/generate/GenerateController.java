package dev.warmpath.worker.generate;

import dev.warmpath.process.tracing.ServerSpans;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.PackedRequest;
import dev.warmpath.worker.engine.GenerationTimes;
import dev.warmpath.worker.engine.Generator;
import dev.warmpath.worker.engine.RefusedException;
import dev.warmpath.worker.tracing.GenerationSpans;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import tools.jackson.databind.ObjectReader;
import tools.jackson.databind.ObjectWriter;
import tools.jackson.databind.json.JsonMapper;

/**
 * {@code POST /v1/generate}: one generation with one or more choices, its events as NDJSON; and {@code DELETE
 * /v1/generate/{handle}}, which ends all of them early, or one. Strangers do not come as far.
 *
 * @param <G> what the generator calls a generation
 */
@RestController
final class GenerateController<G> {

    /** Decoding a prompt and hashing it takes some ten milliseconds a million tokens; no event loop waits for that. */
    private static final int INTAKE_THREADS = 2;
    private static final int INTAKE_IDLE_SECONDS = 60;

    private final Generator<G> engine;
    private final OpenStreams streams;
    private final Outbox outbox;
    private final @Nullable GenerationSpans spans;
    private final ObjectReader requests;
    private final ObjectReader heads;
    private final ObjectWriter json;
    private final Scheduler intake;
    /** Those that are alive and have a name, by choices: as many as the engine takes, at most. */
    private final Map<String, List<G>> named = new ConcurrentHashMap<>();

    GenerateController(Generator<G> engine, OpenStreams streams, Outbox outbox, JsonMapper json,
            ObjectProvider<GenerationSpans> spans) {
        this.engine = engine;
        this.streams = streams;
        this.outbox = outbox;
        this.spans = spans.getIfAvailable();
        this.requests = json.readerFor(GenerateRequest.class);
        this.heads = json.readerFor(PackedRequest.Head.class);
        this.json = json.writerFor(GenerateEvent.class);
        this.intake = Schedulers.newBoundedElastic(
                INTAKE_THREADS, engine.mostGenerations(), "intake", INTAKE_IDLE_SECONDS, /* daemon */ true);
    }

    /** In JSON, as people write it. */
    @PostMapping(path = Protocol.GENERATE_PATH,
            consumes = MediaType.APPLICATION_JSON_VALUE, produces = MediaType.APPLICATION_NDJSON_VALUE)
    Flux<byte[]> generate(@RequestBody Mono<byte[]> body, ServerWebExchange exchange) {
        return generate(body, requests::readValue, exchange);
    }

    /** As routers write it. */
    @PostMapping(path = Protocol.GENERATE_PATH,
            consumes = PackedRequest.CONTENT_TYPE, produces = MediaType.APPLICATION_NDJSON_VALUE)
    Flux<byte[]> generatePacked(@RequestBody Mono<byte[]> body, ServerWebExchange exchange) {
        return generate(body, this::unpack, exchange);
    }

    private GenerateRequest unpack(byte[] body) {
        try {
            int headLength = PackedRequest.headLength(body);
            PackedRequest.Head head = heads.readValue(body, 0, headLength);
            if (head == null) {
                throw new IllegalArgumentException("the body is no generate request: null");
            }
            return head.with(PackedRequest.promptTokens(body, headLength));
        } catch (IllegalArgumentException e) {
            throw engine.refuse(FailureReason.INVALID_REQUEST, e.getMessage());
        }
    }

    /** Lines and not events, for Spring would flush those by groups: {@code docs/decisions/0005}. */
    private Flux<byte[]> generate(Mono<byte[]> body, Function<byte[], GenerateRequest> reader,
            ServerWebExchange exchange) {
        return Flux.deferContextual(subscriber -> {
            @Nullable Consumer<GenerationTimes> whenOver =
                    spans == null ? null : spans.beneath(ServerSpans.observationOf(subscriber));
            return body.doOnNext(_ -> streams.enter(exchange))
                    .publishOn(intake)
                    .onErrorMap(RejectedExecutionException.class, _ -> engine.refuse(FailureReason.QUEUE_FULL,
                            "more requests than this worker takes at all wait to be decoded"))
                    .flatMapMany(bytes -> begin(reader.apply(bytes), whenOver));
        });
    }

    private Flux<byte[]> begin(GenerateRequest request, @Nullable Consumer<GenerationTimes> whenOver) {
        var stream = new TokenStream(outbox.lane(), request.choices(), request.logprobs(), whenOver);
        List<G> choices = engine.submit(request, List.copyOf(stream.listeners()));
        Flux<byte[]> lines = stream.events(() -> choices.forEach(engine::cancel)).map(this::line);
        String handle = request.handle();
        if (handle == null) {
            return lines;
        }
        named.put(handle, choices);
        return lines.doFinally(_ -> named.remove(handle, choices));
    }

    private byte[] line(GenerateEvent event) {
        byte[] text = json.writeValueAsBytes(event);
        byte[] line = Arrays.copyOf(text, text.length + 1);
        line[text.length] = '\n';
        return line;
    }

    /**
     * Answered at once; the generation's own stream tells its end.
     *
     * @param choice number of the one to end, from 0; null: all of them
     */
    @DeleteMapping(Protocol.GENERATE_PATH + "/{handle}")
    ResponseEntity<Void> stop(@PathVariable String handle,
            @RequestParam(name = Protocol.CHOICE_PARAMETER, required = false) @Nullable String choice) {
        List<G> choices = named.get(handle);
        List<G> ending = choices == null || choice == null ? choices : choice(choices, choice);
        if (ending == null) {
            return ResponseEntity.notFound().build();
        }
        ending.forEach(engine::stop);
        return ResponseEntity.noContent().build();
    }

    private @Nullable List<G> choice(List<G> choices, String number) {
        try {
            int index = Integer.parseInt(number);
            return index < 0 || index >= choices.size() ? null : List.of(choices.get(index));
        } catch (NumberFormatException e) {
            throw new RefusedException(FailureReason.INVALID_REQUEST, "choice '" + number + "' is no number");
        }
    }
}
