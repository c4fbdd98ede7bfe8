package dev.warmpath.router.http;

import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.stereotype.Component;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Mono;

/** Gives every request an id, the client's if it has sent a usable one, and every answer the same. */
@Component
@Order(Ordered.HIGHEST_PRECEDENCE)
public final class RequestIdFilter implements WebFilter {

    static final String HEADER = "x-request-id";
    private static final int MAX_LENGTH = 128;
    private static final String ATTRIBUTE = RequestIdFilter.class.getName();

    @Override
    public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
        @Nullable String sent = exchange.getRequest().getHeaders().getFirst(HEADER);
        String id = sent != null && isUsable(sent) ? sent : newId();
        exchange.getAttributes().put(ATTRIBUTE, id);
        exchange.getResponse().getHeaders().set(HEADER, id);
        return chain.filter(exchange);
    }

    public static String requestId(ServerWebExchange exchange) {
        Object id = exchange.getAttribute(ATTRIBUTE);
        return id == null ? newId() : id.toString();
    }

    /** 32 hex digits. It tells requests apart, and gives nobody a right to anything: any random numbers will do. */
    public static String newId() {
        var random = ThreadLocalRandom.current();
        HexFormat hex = HexFormat.of();
        return hex.toHexDigits(random.nextLong()).concat(hex.toHexDigits(random.nextLong()));
    }

    private static boolean isUsable(String id) {
        return !id.isEmpty() && id.length() <= MAX_LENGTH && id.chars().allMatch(c -> c > ' ' && c < 0x7f);
    }
}
