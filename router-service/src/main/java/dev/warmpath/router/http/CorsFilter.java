package dev.warmpath.router.http;

import java.time.Duration;
import org.springframework.context.ApplicationContext;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.stereotype.Component;
import org.springframework.web.cors.CorsConfiguration;
import org.springframework.web.cors.reactive.CorsUtils;
import org.springframework.web.cors.reactive.DefaultCorsProcessor;
import org.springframework.web.server.ResponseStatusException;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Mono;

/**
 * Lets scripts of the web pages that the settings name use the public API, errors included, and refuses all others.
 * Browsers ask before they send JSON; that question is answered here, for any path, and goes no further.
 *
 * <p>Nobody's cookies are of any use here, so they are never asked for: a key travels in a header, which any page may
 * send that has one.
 */
@Component
@Order(CorsFilter.AFTER_REQUEST_ID)
final class CorsFilter extends PublicFilter {

    static final int AFTER_REQUEST_ID = Ordered.HIGHEST_PRECEDENCE + 1;
    /** How long a browser need not ask again. */
    private static final Duration KNOWN_FOR = Duration.ofMinutes(10);

    private final DefaultCorsProcessor processor = new DefaultCorsProcessor();
    private final CorsConfiguration allowed = new CorsConfiguration();
    private final boolean enabled;

    CorsFilter(CorsProperties properties, ApplicationContext publicContext) {
        super(publicContext);
        this.enabled = !properties.allowedOrigins().isEmpty();
        allowed.setAllowedOrigins(properties.allowedOrigins());
        allowed.addAllowedMethod(HttpMethod.GET);
        allowed.addAllowedMethod(HttpMethod.HEAD);
        allowed.addAllowedMethod(HttpMethod.POST);
        allowed.addAllowedHeader(CorsConfiguration.ALL);           // clients' libraries send many of their own
        allowed.addExposedHeader(RequestIdFilter.HEADER);
        allowed.addExposedHeader(HttpHeaders.RETRY_AFTER);
        DecisionHeaders.NAMES.forEach(allowed::addExposedHeader);
        allowed.addExposedHeader(IgnoredFields.HEADER);
        allowed.addExposedHeader(ApiError.RETRY_AFTER_MS);
        RateLimitHeaders.NAMES.forEach(allowed::addExposedHeader);
        allowed.setMaxAge(KNOWN_FOR);
    }

    @Override
    Mono<Void> filterPublic(ServerWebExchange exchange, WebFilterChain chain) {
        if (!enabled) {
            return chain.filter(exchange);
        }
        if (!processor.process(allowed, exchange)) {
            return Mono.error(new ResponseStatusException(HttpStatus.FORBIDDEN,
                    "pages from this origin may not do this here, see warmpath.cors.allowed-origins"));
        }
        return CorsUtils.isPreFlightRequest(exchange.getRequest())
                ? exchange.getResponse().setComplete()
                : chain.filter(exchange);
    }
}
