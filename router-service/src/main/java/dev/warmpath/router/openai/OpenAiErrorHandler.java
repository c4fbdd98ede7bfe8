package dev.warmpath.router.openai;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.ApplicationContext;
import org.springframework.core.annotation.Order;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.stereotype.Component;
import org.springframework.web.ErrorResponse;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebExceptionHandler;
import reactor.core.publisher.Mono;
import tools.jackson.databind.json.JsonMapper;

/** Answers every error on the public port with OpenAI's error object, Spring's own errors included. */
@Component
@Order(OpenAiErrorHandler.BEFORE_BOOTS_OWN)
final class OpenAiErrorHandler implements WebExceptionHandler {

    static final int BEFORE_BOOTS_OWN = -2;
    private static final Logger log = LoggerFactory.getLogger(OpenAiErrorHandler.class);

    private final ApplicationContext publicContext;
    private final JsonMapper json;

    OpenAiErrorHandler(ApplicationContext publicContext, JsonMapper json) {
        this.publicContext = publicContext;
        this.json = json;
    }

    @Override
    public Mono<Void> handle(ServerWebExchange exchange, Throwable error) {
        // the management port has a context of its own, which inherits this handler and has its own error bodies
        boolean isPublic = exchange.getApplicationContext() == publicContext;
        ServerHttpResponse response = exchange.getResponse();
        if (!isPublic || response.isCommitted()) {
            return Mono.error(error);
        }
        OpenAiError answer = OpenAiError.of(error);
        logIfOurs(exchange, answer, error);
        response.setStatusCode(HttpStatusCode.valueOf(answer.status()));
        HttpHeaders headers = response.getHeaders();
        if (error instanceof ErrorResponse framework) {
            headers.addAll(framework.getHeaders());                  // "allow" of a 405
        }
        headers.setContentType(MediaType.APPLICATION_JSON);
        headers.remove(HttpHeaders.CACHE_CONTROL);
        if (answer.retryAfterSeconds() > 0) {
            headers.set(HttpHeaders.RETRY_AFTER, Integer.toString(answer.retryAfterSeconds()));
        }
        if (answer.status() == 413) {
            headers.setConnection("close");                          // nobody reads the rest of the body
        }
        byte[] body = json.writeValueAsBytes(answer.body());
        headers.setContentLength(body.length);
        return response.writeWith(Mono.fromSupplier(() -> response.bufferFactory().wrap(body)));
    }

    private static void logIfOurs(ServerWebExchange exchange, OpenAiError answer, Throwable error) {
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
