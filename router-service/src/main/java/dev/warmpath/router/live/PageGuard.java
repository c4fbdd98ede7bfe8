package dev.warmpath.router.live;

import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.ThisMachine;
import java.net.InetSocketAddress;
import java.net.URI;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.web.reactive.function.server.ServerRequest;

/**
 * Who may watch, and who may do what the page does. A port that is bound to loopback can be reached by a browser on
 * this machine in the name of any page that it shows: then requests must name this machine as their host, so that no
 * name that somebody lets point here is enough to read with. What changes something needs the operators' token, if they
 * have one, and must come from the page itself, which says so in a header that other pages may not send.
 */
final class PageGuard {

    /** Said by the page with all that changes something; a browser asks before another page may send it. */
    static final String PAGE_HEADER = "x-warmpath-page";

    private final FleetToken operators;
    private final boolean isOnLoopback;

    /** Why a request is not answered. */
    record Refusal(HttpStatus status, String message) {}

    /** @param address that the port is bound to; blank: all of this machine's */
    PageGuard(FleetToken operators, String address) {
        this.operators = operators;
        this.isOnLoopback = FleetToken.NONE.allowsBinding(address);
    }

    /** True if whoever reaches the port may do what the page does. */
    boolean isOpen() {
        return operators.isNone();
    }

    /** Null if it may be answered. */
    @Nullable Refusal read(ServerRequest request) {
        InetSocketAddress host = request.headers().host();
        return !isOnLoopback || ThisMachine.isNamed(host == null ? null : host.getHostString())
                ? null : new Refusal(HttpStatus.FORBIDDEN,
                        "this port answers to localhost and loopback addresses only, not to the name it was asked by");
    }

    /** Null if it may be done. */
    @Nullable Refusal write(ServerRequest request) {
        Refusal refusal = read(request);
        if (refusal != null) {
            return refusal;
        }
        String origin = request.headers().firstHeader(HttpHeaders.ORIGIN);
        if (request.headers().firstHeader(PAGE_HEADER) == null || origin != null && !isOwn(origin, request)) {
            return new Refusal(HttpStatus.FORBIDDEN, "this may be done by the fleet page only, which sends the header "
                    + PAGE_HEADER);
        }
        return operators.isProvedBy(request.headers().firstHeader(HttpHeaders.AUTHORIZATION)) ? null
                : new Refusal(HttpStatus.UNAUTHORIZED, "the management token is missing or wrong: send "
                        + "warmpath.management.token as 'Authorization: Bearer'");
    }

    private static boolean isOwn(String origin, ServerRequest request) {
        try {
            return URI.create(origin).getAuthority().equalsIgnoreCase(request.headers().firstHeader(HttpHeaders.HOST));
        } catch (IllegalArgumentException | NullPointerException _) {
            return false;                                          // "null", as of pages without an origin
        }
    }
}
