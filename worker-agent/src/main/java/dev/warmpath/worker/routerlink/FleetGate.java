package dev.warmpath.worker.routerlink;

import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Handshake;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.ThisMachine;
import io.netty.channel.Channel;
import io.netty.util.Attribute;
import io.netty.util.AttributeKey;
import java.net.InetSocketAddress;
import java.security.SecureRandom;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Pattern;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.http.server.reactive.ServerHttpRequestDecorator;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;
import reactor.core.publisher.Mono;
import reactor.netty.http.server.HttpServerRequest;

/**
 * Turns strangers away from both ports of a worker before a byte of their body is read: whatever is not named here
 * needs proof. The names are compared with the path as it was sent, so that another spelling of a name is no name, and
 * no spelling of another path is open.
 *
 * <p>A router proves itself once a connection, see {@link Handshake}: the gate answers its question, whoever asks, and
 * remembers with the connection whether the proof that follows was right. What operators change needs their own token,
 * and comes from no web page: a browser on this machine would send it to a port that is bound to loopback.
 *
 * <p>Without a token, everybody on this machine is a router, but no web page is: what needs proof is refused with an
 * {@code Origin}, which browsers add to what changes something, and by a name that somebody lets point here, which lets
 * a page read.
 */
@Order(Ordered.HIGHEST_PRECEDENCE)
public final class FleetGate implements WebFilter {

    /** Reads that probes and scrapers do, and that say nothing about anybody's prompt. */
    private static final Pattern OPEN_PATHS =
            Pattern.compile("/metrics|/actuator|/actuator/(info|prometheus|drain|health(/[A-Za-z0-9_-]+)*)");
    /** What operators change, in any spelling that would be served: a router's proof is not enough there. */
    private static final PathPattern OPERATORS_PATHS = PathPatternParser.defaultInstance.parse("/actuator/**");
    private static final Set<HttpMethod> READS = Set.of(HttpMethod.GET, HttpMethod.HEAD);

    /** What was said on a connection, and whether the router has proved itself there since. */
    private static final AttributeKey<Handshake> ASKED = AttributeKey.valueOf(FleetGate.class, "asked");
    private static final AttributeKey<Boolean> PROVED = AttributeKey.valueOf(FleetGate.class, "proved");

    private final FleetToken token;
    private final FleetToken operators;
    private final String workerId;
    private final long epoch;
    private final SecureRandom random = new SecureRandom();

    /**
     * @param operators what they have who may change something on the management port
     * @param epoch     of this life of the worker
     */
    public FleetGate(FleetToken token, FleetToken operators, String workerId, long epoch) {
        this.token = token;
        this.operators = operators;
        this.workerId = workerId;
        this.epoch = epoch;
    }

    @Override
    public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
        ServerHttpRequest request = exchange.getRequest();
        if (request.getMethod() == HttpMethod.GET && request.getPath().value().equals(Protocol.HANDSHAKE_PATH)) {
            return answer(request, exchange.getResponse());
        }
        if (!READS.contains(request.getMethod())
                && OPERATORS_PATHS.matches(request.getPath().pathWithinApplication())) {
            return isOperators(request) ? chain.filter(exchange) : Problems.notAnOperator(exchange.getResponse());
        }
        if (!isOpen(request) && isFromAPage(request)) {
            return Problems.fromAPage(exchange.getResponse());
        }
        if (isOpen(request) || token.isProvedBy(request.getHeaders().getFirst(HttpHeaders.AUTHORIZATION))
                || isProved(request)) {
            return chain.filter(exchange);
        }
        return Problems.unauthorized(exchange.getResponse());
    }

    private boolean isOperators(ServerHttpRequest request) {
        HttpHeaders headers = request.getHeaders();
        return headers.getFirst(HttpHeaders.ORIGIN) == null
                && operators.isProvedBy(headers.getFirst(HttpHeaders.AUTHORIZATION));
    }

    private boolean isFromAPage(ServerHttpRequest request) {
        InetSocketAddress host = request.getHeaders().getHost();
        return request.getHeaders().containsHeader(HttpHeaders.ORIGIN)
                || token.isNone() && !ThisMachine.isNamed(host == null ? null : host.getHostString());
    }

    private Mono<Void> answer(ServerHttpRequest request, ServerHttpResponse response) {
        String routerNonce = request.getHeaders().getFirst(Handshake.NONCE_HEADER);
        if (routerNonce == null || !Handshake.isNonce(routerNonce)) {
            response.setStatusCode(HttpStatus.BAD_REQUEST);
            return response.setComplete();
        }
        var handshake = new Handshake(routerNonce, Handshake.newNonce(random), workerId, epoch);
        channel(request).attr(ASKED).set(handshake);
        HttpHeaders headers = response.getHeaders();
        headers.set(Handshake.NONCE_HEADER, handshake.workerNonce());
        headers.set(Handshake.WORKER_HEADER, workerId);
        headers.set(Handshake.EPOCH_HEADER, Long.toString(epoch));
        headers.set(Handshake.PROOF_HEADER, handshake.workerProof(token));
        response.setStatusCode(HttpStatus.NO_CONTENT);
        return response.setComplete();
    }

    private boolean isProved(ServerHttpRequest request) {
        Channel channel = channel(request);
        Attribute<Boolean> proved = channel.attr(PROVED);
        Handshake asked = channel.attr(ASKED).get();
        if (proved.get() == null && asked != null
                && asked.isProvedByRouter(token, request.getHeaders().getFirst(Handshake.PROOF_HEADER))) {
            proved.set(true);
        }
        return proved.get() != null;
    }

    /** The connection that a request has come by. */
    public static Channel channel(ServerHttpRequest request) {
        var found = new AtomicReference<Channel>();
        HttpServerRequest connected = ServerHttpRequestDecorator.getNativeRequest(request);
        connected.withConnection(connection -> found.set(connection.channel()));
        return Objects.requireNonNull(found.get());
    }

    private static boolean isOpen(ServerHttpRequest request) {
        return READS.contains(request.getMethod()) && OPEN_PATHS.matcher(request.getPath().value()).matches();
    }
}
