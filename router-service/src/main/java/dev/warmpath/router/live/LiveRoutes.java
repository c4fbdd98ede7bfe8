package dev.warmpath.router.live;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleetlink.stream.WorkerHttp;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.router.prefix.WorkerKeys;
import io.netty.channel.Channel;
import io.netty.handler.codec.http.HttpMethod;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.context.annotation.Bean;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferLimitException;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.http.server.reactive.ServerHttpRequestDecorator;
import org.springframework.web.reactive.function.server.HandlerFunction;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.netty.http.server.HttpServerRequest;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import tools.jackson.databind.annotation.JsonNaming;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * The fleet page on the management port: its files, the feed that it shows, what it asks beside that, and what it does.
 * Who may is said by {@link PageGuard}.
 *
 * <p>Named in META-INF as a management configuration, and without any stereotype on purpose: a component scan that
 * found it would open these paths on the public port, too. Without a feed there is no page.
 */
@ConditionalOnBean(LiveFeed.class)
class LiveRoutes {

    private static final Logger log = LoggerFactory.getLogger(LiveRoutes.class);
    private static final String WORKER = "/live/workers/{id}";
    /** Of the text of a node or a block. */
    private static final int MAX_TEXT = 400;
    private static final int MAX_TEXT_TOKENS = 160;
    private static final MediaType JSON = MediaType.APPLICATION_JSON;
    /** Nothing is loaded from elsewhere, and no other page may show this one in a frame. */
    private static final String CONTENT_POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; "
            + "img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
            + "frame-ancestors 'none'";

    /** The answer of {@code /live/prefixes}. @param requests that count */
    record Prefixes(int requests, List<PrefixRow> prefixes) {}

    /**
     * A node, as {@link HotPrefixes.Prefix}.
     *
     * @param tokens  from the beginning of the prompt to its end
     * @param workers that hold it, as the index has it
     * @param text    of the node alone; null unless in demo mode
     */
    @JsonInclude(JsonInclude.Include.ALWAYS)
    @JsonNaming(SnakeCaseStrategy.class)
    record PrefixRow(String key, @Nullable String parent, int depthBlocks, int blocks, int tokens, int hits,
            String model, List<String> workers, @Nullable String text) {}

    /** What the page's requests are answered with. */
    private record Parts(LiveFeed feed, HotPrefixes prefixes, Playground playground, PageGuard guard, Fleet fleet,
            PrefixIndex index, WorkerHttp http, JsonMapper json, boolean demo) {}

    @Bean
    RouterFunction<ServerResponse> liveRoutesOnManagementPort(LiveFeed feed, HotPrefixes prefixes,
            Playground playground, PageGuard guard, Fleet fleet,
            PrefixIndex index, WorkerHttp liveWorkerHttp, JsonMapper json,
            LiveProperties properties) {
        var parts = new Parts(feed, prefixes, playground, guard, fleet, index, liveWorkerHttp, json, properties.demo());
        var files = new PageFiles();
        return RouterFunctions.route()
                .GET("/", reads(parts, request -> file(files, request, PageFiles.INDEX)))
                .GET("/ui/{*path}", request -> file(files, request, request.pathVariable("path").substring(1)))
                .GET("/live", reads(parts, request -> watch(request, feed)))
                .GET("/live/fleet", reads(parts, _ -> ServerResponse.ok().contentType(JSON).bodyValue(feed.fleet())))
                .GET("/live/prefixes", reads(parts, _ -> elsewhere(() -> prefixes(parts))))
                .GET(WORKER + "/blocks/{block}", reads(parts, request -> ask(parts, request, HttpMethod.GET,
                        Protocol.POOL_BLOCKS_PATH + encoded(request.pathVariable("block")))))
                .GET(WORKER + "/requests/{request}", reads(parts, request -> ask(parts, request, HttpMethod.GET,
                        Protocol.POOL_REQUESTS_PATH + encoded(request.pathVariable("request")))))
                .PUT(WORKER + "/hold", writes(parts, request ->
                        ask(parts, request, HttpMethod.PUT, Protocol.POOL_HOLD_PATH)))
                .DELETE(WORKER + "/hold", writes(parts, request ->
                        ask(parts, request, HttpMethod.DELETE, Protocol.POOL_HOLD_PATH)))
                .POST(WORKER + "/step", writes(parts, request ->
                        ask(parts, request, HttpMethod.POST, Protocol.POOL_STEP_PATH)))
                .POST(WORKER + "/reset-cache", writes(parts, request ->
                        ask(parts, request, HttpMethod.POST, Protocol.POOL_RESET_PATH)))
                .POST("/live/playground/chat/completions", writes(parts, request ->
                        playground.pass(request, "/v1/chat/completions")))
                .POST("/live/playground/route", writes(parts, request -> playground.pass(request, "/v1/route")))
                .POST("/live/playground/chain", writes(parts, request -> request.bodyToMono(Playground.Typed.class)
                        .flatMap(typed -> elsewhere(() -> playground.chain(typed)))
                        .switchIfEmpty(Problems.answer(HttpStatus.BAD_REQUEST, "a body with a prompt is missing"))))
                .build();
    }

    private static HandlerFunction<ServerResponse> reads(
            Parts parts, Function<ServerRequest, Mono<ServerResponse>> answer) {
        return request -> answered(parts.guard().read(request), request, answer);
    }

    private static HandlerFunction<ServerResponse> writes(
            Parts parts, Function<ServerRequest, Mono<ServerResponse>> answer) {
        return request -> answered(parts.guard().write(request), request, answer);
    }

    private static Mono<ServerResponse> answered(PageGuard.@Nullable Refusal refusal, ServerRequest request,
            Function<ServerRequest, Mono<ServerResponse>> answer) {
        return refusal != null ? Problems.answer(refusal.status(), refusal.message()) : answer.apply(request)
                .onErrorResume(DataBufferLimitException.class, _ -> Problems.answer(HttpStatus.CONTENT_TOO_LARGE,
                        "what the page sends has at most 256 KiB"));
    }

    private static Mono<ServerResponse> file(PageFiles files, ServerRequest request, String path) {
        PageFiles.File file = files.find(path);
        if (file == null) {
            return Problems.answer(HttpStatus.NOT_FOUND, "the fleet page has no such file");
        }
        if (request.headers().header(HttpHeaders.IF_NONE_MATCH).contains(file.tag())) {
            return ServerResponse.status(HttpStatus.NOT_MODIFIED).header(HttpHeaders.ETAG, file.tag()).build();
        }
        return ServerResponse.ok().contentType(file.type())
                .header(HttpHeaders.ETAG, file.tag())
                .header(HttpHeaders.CACHE_CONTROL, "no-cache")
                .header("content-security-policy", CONTENT_POLICY)
                .header("x-content-type-options", "nosniff")
                .header("referrer-policy", "no-referrer")
                .bodyValue(file.content());
    }

    private static Mono<ServerResponse> watch(ServerRequest request, LiveFeed feed) {
        Set<String> pools = Arrays.stream(request.queryParam("pools").orElse("").split(","))
                .filter(each -> !each.isBlank()).limit(LiveFeed.MAX_POOLS_OF_VIEWER).collect(Collectors.toSet());
        Flux<byte[]> events = feed.watch(pools, channel(request)::isWritable);
        if (events == null) {
            return Problems.answer(HttpStatus.SERVICE_UNAVAILABLE,
                    LiveFeed.MAX_VIEWERS + " watch this router already, or it is going away");
        }
        Flux<DataBuffer> bytes = events.map(DefaultDataBufferFactory.sharedInstance::wrap);
        return ServerResponse.ok().contentType(MediaType.TEXT_EVENT_STREAM)
                .header(HttpHeaders.CACHE_CONTROL, "no-store")
                .body((response, _) -> response.writeWith(bytes));
    }

    private static Channel channel(ServerRequest request) {
        var found = new AtomicReference<Channel>();
        HttpServerRequest connected = ServerHttpRequestDecorator.getNativeRequest(request.exchange().getRequest());
        connected.withConnection(connection -> found.set(connection.channel()));
        return Objects.requireNonNull(found.get());
    }

    /** Not on the port's own event loop, where heartbeats come in. @param answer null: what it is about is not here */
    private static Mono<ServerResponse> elsewhere(Supplier<@Nullable Object> answer) {
        return Mono.fromCallable(answer::get).subscribeOn(Schedulers.boundedElastic())
                .flatMap(content -> ServerResponse.ok().contentType(JSON).bodyValue(content))
                .switchIfEmpty(Problems.answer(HttpStatus.NOT_FOUND, "no such model is served"));
    }

    private static Prefixes prefixes(Parts parts) {
        List<FleetWorker> everyone = parts.fleet().everyone();
        return new Prefixes(parts.prefixes().prompts(), parts.prefixes().hottest().stream().map(each -> {
            Set<WorkerKeys> holders = Set.copyOf(parts.index().holders(each.key()));
            return new PrefixRow(Texts.key(each.key()), each.parent() == null ? null : Texts.key(each.parent()),
                    each.depth(), each.blocks(), each.depth() * each.model().hashSettings().blockSize(), each.hits(),
                    each.model().name(),
                    everyone.stream().filter(worker -> holders.contains(worker.keys())).map(FleetWorker::id).toList(),
                    parts.demo() ? text(each) : null);
        }).toList());
    }

    private static String text(HotPrefixes.Prefix node) {
        int[] shown = Arrays.copyOf(node.tokens(), Math.min(node.tokens().length, MAX_TEXT_TOKENS));
        String text = node.model().tokenizer().decode(shown, false);
        return shown.length < node.tokens().length ? text + "…" : shortened(text);
    }

    private static String shortened(String text) {
        return text.length() <= MAX_TEXT ? text : text.substring(0, MAX_TEXT) + "…";
    }

    private static Mono<ServerResponse> ask(Parts parts, ServerRequest request, HttpMethod method, String path) {
        String id = request.pathVariable("id");
        FleetWorker worker = parts.fleet().everyone().stream().filter(each -> each.id().equals(id)).findFirst()
                .orElse(null);
        if (worker == null) {
            return Problems.answer(HttpStatus.NOT_FOUND, "there is no worker of this id");
        }
        if (!method.equals(HttpMethod.GET)) {
            log.info("the page: {} {}", method, request.path());
        }
        return parts.http().ask(worker, method, path)
                .flatMap(answer -> passed(parts, worker, answer))
                .onErrorResume(error -> Problems.answer(HttpStatus.BAD_GATEWAY,
                        "worker " + worker.id() + " does not answer: " + error.getMessage()));
    }

    private static Mono<ServerResponse> passed(Parts parts, FleetWorker worker, WorkerHttp.Answer answer) {
        if (answer.status() == HttpStatus.NO_CONTENT.value()) {
            return ServerResponse.noContent().build();
        }
        JsonNode told = parts.json().readTree(answer.body());
        if (!(told instanceof ObjectNode object)) {
            return Problems.answer(HttpStatus.BAD_GATEWAY, "worker " + worker.id() + " says what is no JSON object");
        }
        object.put("worker", worker.id());
        if (object.has("tokens") && object.has("block")) {
            addText(parts, worker, object);
        }
        boolean isProblem = answer.status() >= HttpStatus.BAD_REQUEST.value();
        return ServerResponse.status(answer.status())
                .contentType(isProblem ? MediaType.APPLICATION_PROBLEM_JSON : JSON)
                .bodyValue(object);
    }

    /** Token ids are the prompt in other words: without demo mode neither is told. */
    private static void addText(Parts parts, FleetWorker worker, ObjectNode block) {
        JsonNode tokens = block.get("tokens");
        String text = null;
        if (!parts.demo()) {
            block.putNull("tokens");
        } else if (tokens.isArray()) {
            int[] ids = tokens.valueStream().mapToInt(JsonNode::asInt).toArray();
            text = parts.fleet().models().stream().filter(each -> each.revision().equals(worker.revision())).findFirst()
                    .map(model -> shortened(model.tokenizer().decode(ids, false))).orElse(null);
        }
        block.put("text", text);
    }

    private static String encoded(String segment) {
        return URLEncoder.encode(segment, StandardCharsets.UTF_8).replace("+", "%20");
    }
}
