package dev.warmpath.router.live;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.BlockHasher;
import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.models.ServedModel;
import dev.warmpath.router.prefix.PrefixIndex;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOption;
import io.netty.handler.codec.http.HttpMethod;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.core.io.buffer.NettyDataBufferFactory;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.netty.http.client.HttpClient;
import reactor.netty.resources.LoopResources;
import tools.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import tools.jackson.databind.annotation.JsonNaming;

/**
 * What the page sends prompts with. They go to the public API of this router as anybody's do, on an event loop of their
 * own, with the API key that the page was given: what is watched then is what clients get.
 */
final class Playground implements AutoCloseable {

    /** At a time. */
    static final int MAX_REQUESTS = 16;
    /** Of a prompt whose chain is shown. */
    static final int MAX_BLOCKS = 256;
    private static final NettyDataBufferFactory BUFFERS = new NettyDataBufferFactory(ByteBufAllocator.DEFAULT);
    private static final String API_KEY_HEADER = "x-warmpath-api-key";
    private static final List<String> TOLD_HEADERS = List.of("content-type", "retry-after", "x-request-id",
            "x-warmpath-worker", "x-warmpath-cached-tokens", "x-warmpath-decision");

    private final Supplier<String> apiUrl;
    private final Fleet fleet;
    private final PrefixIndex index;
    private final Semaphore places = new Semaphore(MAX_REQUESTS);
    private final LoopResources loop = LoopResources.create("live-playground", 1, true);
    private final HttpClient http = HttpClient.newConnection().runOn(loop)
            .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 2_000);

    /** @param apiUrl of the public API, once it is there */
    Playground(Supplier<String> apiUrl, Fleet fleet, PrefixIndex index) {
        this.apiUrl = apiUrl;
        this.fleet = fleet;
        this.index = index;
    }

    /** Sends the request's body there, and its answer back as it comes. */
    Mono<ServerResponse> pass(ServerRequest request, String path) {
        if (!places.tryAcquire()) {
            return Problems.answer(HttpStatus.SERVICE_UNAVAILABLE,
                    MAX_REQUESTS + " prompts are on their way, no more are sent");
        }
        var taken = new AtomicBoolean(true);
        Runnable giveBack = () -> {
            if (taken.compareAndSet(true, false)) {
                places.release();
            }
        };
        return request.bodyToMono(byte[].class).defaultIfEmpty(new byte[0])
                .flatMap(body -> send(request, path, body, giveBack))
                .doOnError(_ -> giveBack.run())
                .doOnCancel(giveBack);
    }

    /** @param giveBack run when the answer has been passed on, or never will be */
    private Mono<ServerResponse> send(ServerRequest request, String path, byte[] body, Runnable giveBack) {
        String key = request.headers().firstHeader(API_KEY_HEADER);
        return http.headers(headers -> {
                    headers.set("content-type", "application/json");
                    if (key != null) {
                        headers.set("authorization", "Bearer " + key);
                    }
                })
                .request(HttpMethod.POST).uri(apiUrl.get() + path)
                .send(Mono.fromSupplier(() -> Unpooled.wrappedBuffer(body)))
                .responseConnection((response, connection) -> {
                    var answer = ServerResponse.status(response.status().code());
                    for (String name : TOLD_HEADERS) {
                        String value = response.responseHeaders().get(name);
                        if (value != null) {
                            answer = answer.header(name, value);
                        }
                    }
                    Flux<ByteBuf> content = connection.inbound().receive().retain()
                            .doFinally(_ -> {
                                connection.dispose();
                                giveBack.run();
                            });
                    return answer.header(HttpHeaders.CACHE_CONTROL, "no-store")
                            .body((out, _) -> out.writeWith(content.map(BUFFERS::wrap)));
                })
                .next()
                .onErrorResume(error -> {
                    giveBack.run();
                    return Problems.answer(HttpStatus.BAD_GATEWAY,
                            "the API of this router does not answer: " + error.getMessage());
                });
    }

    /** A typed prompt. @param model null: the first that is served */
    record Typed(@Nullable String model, @Nullable String prompt) {}

    /**
     * Its blocks and their names.
     *
     * @param seed   the hash that the first block is chained to
     * @param blocks the full ones, at most {@value #MAX_BLOCKS}
     * @param rest   tokens that fill no block
     */
    @JsonNaming(SnakeCaseStrategy.class)
    record Chain(String model, int blockSize, int promptTokens, String seed, List<Link> blocks, Piece rest) {}

    /** @param workers that hold it, as the index has it */
    @JsonNaming(SnakeCaseStrategy.class)
    record Link(int index, int[] tokens, List<String> texts, String hash, String key, String parent,
            List<String> workers) {}

    /** Tokens, and each one's text. */
    record Piece(int[] tokens, List<String> texts) {}

    /** Null if no such model is served. */
    @Nullable Chain chain(Typed typed) {
        String name = typed.model() != null ? typed.model()
                : fleet.models().stream().map(ServedModel::name).findFirst().orElse("");
        ServedModel model = fleet.model(name);
        if (model == null) {
            return null;
        }
        int blockSize = model.hashSettings().blockSize();
        int[] all = model.tokenizer().encode(typed.prompt() == null ? "" : typed.prompt(), /* addSpecialTokens */ true);
        int[] tokens = Arrays.copyOf(all, Math.min(all.length, MAX_BLOCKS * blockSize + blockSize - 1));
        BlockHashChain chain = BlockHashChain.of(model.hashSettings(), ExtraKeys.NONE, tokens);
        String seed = Arrays.stream(new BlockHasher(model.hashSettings()).root()).mapToObj(Texts::key)
                .collect(Collectors.joining());
        List<Link> links = new ArrayList<>();
        String parent = seed;
        for (int block = 0; block < chain.blockCount(); block++) {
            Piece piece = piece(model, tokens, block * blockSize, (block + 1) * blockSize);
            String hash = HexFormat.of().formatHex(chain.hash(block));
            List<?> holders = index.holders(chain.key(block));
            links.add(new Link(block, piece.tokens(), piece.texts(), hash, Texts.key(chain.key(block)), parent,
                    fleet.everyone().stream().filter(worker -> holders.contains(worker.keys()))
                            .map(FleetWorker::id).toList()));
            parent = hash;
        }
        return new Chain(model.name(), blockSize, all.length, seed, links,
                piece(model, tokens, chain.blockCount() * blockSize, tokens.length));
    }

    private static Piece piece(ServedModel model, int[] tokens, int from, int to) {
        int[] piece = Arrays.copyOfRange(tokens, from, to);
        return new Piece(piece, Arrays.stream(piece)
                .mapToObj(each -> model.tokenizer().decode(new int[] {each}, /* skipSpecialTokens */ false)).toList());
    }

    @Override
    public void close() {
        loop.dispose();
    }
}
