package dev.warmpath.protocol.fleet;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import org.jspecify.annotations.Nullable;

/**
 * The secret that routers and workers of one fleet share, sent as {@code Authorization: Bearer …} in both directions.
 * Without it nobody could tell a worker from a stranger who wants to read prompts. A fleet on one machine may do
 * without: {@link #NONE}.
 */
public final class FleetToken {

    public static final FleetToken NONE = new FleetToken("");
    private static final String SCHEME = "Bearer ";

    private final byte[] expectedHeader;

    private FleetToken(String token) {
        this.expectedHeader = token.isEmpty() ? new byte[0] : (SCHEME + token).getBytes(StandardCharsets.UTF_8);
    }

    /** Absent and blank settings mean {@link #NONE}. */
    public static FleetToken of(@Nullable String token) {
        return token == null || token.isBlank() ? NONE : new FleetToken(token.strip());
    }

    public boolean isNone() {
        return expectedHeader.length == 0;
    }

    /**
     * True if a port bound to this address may be opened: there is a token, or nobody but this machine reaches it.
     *
     * @param address host name or literal; null stands for all addresses of the machine
     */
    public boolean allowsBinding(@Nullable String address) {
        try {
            return !isNone() || address != null && InetAddress.getByName(address).isLoopbackAddress();
        } catch (UnknownHostException e) {
            return false;
        }
    }

    /** The value of the {@code Authorization} header, or null if this fleet has no token. */
    public @Nullable String header() {
        return isNone() ? null : new String(expectedHeader, StandardCharsets.UTF_8);
    }

    /** True if the header proves that its sender belongs to the fleet; takes equally long for every wrong token. */
    public boolean isProvedBy(@Nullable String authorizationHeader) {
        return isNone() || authorizationHeader != null
                && MessageDigest.isEqual(authorizationHeader.getBytes(StandardCharsets.UTF_8), expectedHeader);
    }

    /** Never the token. */
    @Override
    public String toString() {
        return isNone() ? "FleetToken[none]" : "FleetToken[set]";
    }
}
