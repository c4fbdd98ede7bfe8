package dev.warmpath.protocol.fleet;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * The secret that routers and workers of one fleet share, sent as {@code Authorization: Bearer …} in both directions.
 * Without it nobody could tell a worker from a stranger who wants to read prompts. A fleet on one machine may do
 * without: {@link #NONE}.
 */
public final class FleetToken {

    public static final FleetToken NONE = new FleetToken("");
    private static final String SCHEME = "Bearer ";
    private static final String SEAL_ALGORITHM = "HmacSHA256";
    private static final String NO_SEAL = "none";

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

    /**
     * Makes a text that lies where strangers may write recognizable as this fleet's: HMAC-SHA-256 in hex, a line break,
     * the text. Without a token the first line is {@code none}.
     */
    public String seal(String text) {
        return sealOf(text) + "\n" + text;
    }

    /** @return the text, or null if somebody without this token wrote it */
    public @Nullable String open(String sealed) {
        int end = sealed.indexOf('\n');
        if (end < 0) {
            return null;
        }
        String text = sealed.substring(end + 1);
        byte[] seal = sealed.substring(0, end).getBytes(StandardCharsets.UTF_8);
        return MessageDigest.isEqual(seal, sealOf(text).getBytes(StandardCharsets.UTF_8)) ? text : null;
    }

    private String sealOf(String text) {
        if (isNone()) {
            return NO_SEAL;
        }
        try {
            Mac mac = Mac.getInstance(SEAL_ALGORITHM);
            mac.init(new SecretKeySpec(expectedHeader, SCHEME.length(), expectedHeader.length - SCHEME.length(),
                    SEAL_ALGORITHM));
            return HexFormat.of().formatHex(mac.doFinal(text.getBytes(StandardCharsets.UTF_8)));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java platform has " + SEAL_ALGORITHM, e);
        }
    }

    /** Never the token. */
    @Override
    public String toString() {
        return isNone() ? "FleetToken[none]" : "FleetToken[set]";
    }
}
