package dev.warmpath.router.http;

import dev.warmpath.process.tracing.ServerSpans;
import dev.warmpath.router.dispatch.DispatchException;
import dev.warmpath.router.dispatch.DispatchFailure.RouterStopping;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.http.SseStream.BrokenOffException;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import java.io.IOException;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.ApplicationContext;
import org.springframework.core.annotation.Order;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.http.server.reactive.ServerHttpResponseDecorator;
import org.springframework.stereotype.Component;
import org.springframework.web.ErrorResponse;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebExceptionHandler;
import reactor.core.publisher.Mono;
import reactor.netty.channel.AbortedException;
import reactor.netty.http.server.HttpServerResponse;
import tools.jackson.databind.json.JsonMapper;

/** Answers every error on the public port with OpenAI's error object, Spring's own errors included. */
@Component
@Order(ApiErrorHandler.BEFORE_BOOTS_OWN)
final class ApiErrorHandler implements WebExceptionHandler {

    static final int BEFORE_BOOTS_OWN = -2;
    private static final Logger log = LoggerFactory.getLogger(ApiErrorHandler.class);

    private final ApplicationContext publicContext;
    private final JsonMapper json;
    private final RouterMetrics metrics;

    ApiErrorHandler(ApplicationContext publicContext, JsonMapper json, RouterMetrics metrics) {
        this.publicContext = publicContext;
        this.json = json;
        this.metrics = metrics;
    }

    @Override
    public Mono<Void> handle(ServerWebExchange exchange, Throwable error) {
        // the management port has a context of its own, which inherits this handler and has its own error bodies
        boolean isPublic = exchange.getApplicationContext() == publicContext;
        ServerHttpResponse response = exchange.getResponse();
        if (!isPublic) {
            return Mono.error(error);
        }
        if (response.isCommitted()) {
            ServerSpans.logging(exchange, () -> logLate(exchange, error));
            return close(response, error instanceof BrokenOffException);
        }
        HttpServerResponse server = ServerHttpResponseDecorator.getNativeResponse(response);
        if (server.hasSentHeaders()) {
            // the server beneath has answered what it could not read, and nothing can be added to that
            response.setStatusCode(HttpStatus.BAD_REQUEST);
            return close(response, true).then(Mono.never());
        }
        ApiError answer = ApiError.of(error);
        ServerSpans.logging(exchange, () -> logIfOurs(exchange, answer, error));
        metrics.errorAnswered(answer.code());
        response.setStatusCode(HttpStatusCode.valueOf(answer.status()));
        HttpHeaders headers = response.getHeaders();
        if (error instanceof ErrorResponse framework) {
            headers.addAll(framework.getHeaders());                  // "allow" of a 405
        }
        headers.setContentType(MediaType.APPLICATION_JSON);
        headers.remove(HttpHeaders.CACHE_CONTROL);
        answer.headers().forEach(headers::set);
        if (answer.status() == 413 && !isPassedOver(exchange.getRequest().getHeaders().getContentLength())) {
            headers.setConnection("close");
        }
        byte[] body = json.writeValueAsBytes(answer.body());
        headers.setContentLength(body.length);
        return response.writeWith(Mono.fromSupplier(() -> response.bufferFactory().wrap(body)));
    }

    private static void logLate(ServerWebExchange exchange, Throwable error) {
        String request = RequestIdFilter.requestId(exchange);
        switch (error) {
            case BrokenOffException told when isCut(told) ->           // the drain tells how many, once
                    log.debug("Request {}: {}", request, told.getMessage());
            case BrokenOffException told -> log.warn("Request {}: {}", request, told.getMessage());
            case AbortedException _, IOException _, TimeoutException _ ->
                    log.debug("Request {} has nobody who reads its answer: {}", request, error.toString());
            default -> log.error("Request {} failed in the router after its first byte", request, error);
        }
    }

    private static boolean isCut(BrokenOffException told) {
        return told.getCause() instanceof DispatchException failed && failed.failure() instanceof RouterStopping;
    }

    /**
     * Status and headers are out: that the answer is not whole can only be told by a connection that breaks.
     *
     * @param afterWriting false if what was written is not taken
     */
    private static Mono<Void> close(ServerHttpResponse response, boolean afterWriting) {
        HttpServerResponse server = ServerHttpResponseDecorator.getNativeResponse(response);
        return Mono.create(done -> server.withConnection(connection -> {
            Channel channel = connection.channel();
            ChannelHandlerContext first = channel.pipeline().firstContext();
            ChannelFuture last = afterWriting && first != null
                    ? first.writeAndFlush(Unpooled.EMPTY_BUFFER) : channel.newSucceededFuture();
            last.addListener(_ -> channel.close().addListener(_ -> done.success()));
        }));
    }

    /**
     * Most clients read an answer when they have sent all of their request: a connection that is closed before is
     * reset, and the answer lost. The server reads and drops the rest, under the deadlines of any body.
     */
    private static boolean isPassedOver(long declaredBytes) {
        return declaredBytes >= 0 && declaredBytes <= RequestBodyReader.LONGEST_PASSED_OVER;
    }

    private static void logIfOurs(ServerWebExchange exchange, ApiError answer, Throwable error) {
        String request = RequestIdFilter.requestId(exchange);
        if (answer.status() == 500) {
            log.error("Request {} failed in the router", request, error);
        } else if (answer.status() == 503) {
            // under overload a line for each of them would be one more load; the meters count them
            log.debug("Request {} is answered with 503: {}", request, error.getMessage());
        } else if (answer.status() > 500) {
            log.warn("Request {} is answered with {}: {}", request, answer.status(), error.getMessage());
        }
    }
}
