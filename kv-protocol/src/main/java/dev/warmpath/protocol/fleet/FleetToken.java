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
 * The secret that routers and workers of one fleet share. Without it nobody could tell a worker from a stranger who
 * wants to read prompts. No router or worker sends it: who has it signs what the other end chose, see {@link Handshake}
 * and {@link RequestProof}. A fleet on one machine may do without: {@link #NONE}.
 */
public final class FleetToken {

    public static final FleetToken NONE = new FleetToken("");
    private static final String SEAL_ALGORITHM = "HmacSHA256";
    private static final String NO_SEAL = "none";

    private final byte[] secret;

    private FleetToken(String token) {
        this.secret = token.getBytes(StandardCharsets.UTF_8);
    }

    /** Absent and blank settings mean {@link #NONE}. */
    public static FleetToken of(@Nullable String token) {
        return token == null || token.isBlank() ? NONE : new FleetToken(token.strip());
    }

    public boolean isNone() {
        return secret.length == 0;
    }

    /**
     * True if a port bound to this address may be opened: there is a token, or nobody but this machine reaches it.
     *
     * @param address host name or literal; null or blank stands for all addresses of the machine, as for Spring Boot
     */
    public boolean allowsBinding(@Nullable String address) {
        try {
            return !isNone() || address != null && !address.isBlank()
                    && InetAddress.getByName(address).isLoopbackAddress();
        } catch (UnknownHostException e) {
            return false;
        }
    }

    /**
     * For people with {@code curl}, who may send the token as a bearer. True if the header proves that its sender
     * belongs to the fleet; takes equally long for every wrong token.
     */
    public boolean isProvedBy(@Nullable String authorizationHeader) {
        return isNone() || authorizationHeader != null && MessageDigest.isEqual(
                authorizationHeader.getBytes(StandardCharsets.UTF_8),
                ("Bearer " + new String(secret, StandardCharsets.UTF_8)).getBytes(StandardCharsets.UTF_8));
    }

    /**
     * HMAC-SHA-256 of the text, in hex. Without a token it is {@code none}, and proves nothing.
     *
     * @param text begins with what it is signed for, so that no signature can stand for another
     */
    String sign(String text) {
        if (isNone()) {
            return NO_SEAL;
        }
        try {
            Mac mac = Mac.getInstance(SEAL_ALGORITHM);
            mac.init(new SecretKeySpec(secret, SEAL_ALGORITHM));
            return HexFormat.of().formatHex(mac.doFinal(text.getBytes(StandardCharsets.UTF_8)));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java platform has " + SEAL_ALGORITHM, e);
        }
    }

    /** True if this is the text's signature; takes equally long for every wrong one. */
    boolean isSignature(String text, String signature) {
        return MessageDigest.isEqual(
                signature.getBytes(StandardCharsets.UTF_8), sign(text).getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Makes a text that lies where strangers may write recognizable as this fleet's: HMAC-SHA-256 in hex, a line break,
     * the text. Without a token the first line is {@code none}.
     */
    public String seal(String text) {
        return sign(text) + "\n" + text;
    }

    /** @return the text, or null if somebody without this token wrote it */
    public @Nullable String open(String sealed) {
        int end = sealed.indexOf('\n');
        if (end < 0) {
            return null;
        }
        String text = sealed.substring(end + 1);
        return isSignature(text, sealed.substring(0, end)) ? text : null;
    }

    /** Never the token. */
    @Override
    public String toString() {
        return isNone() ? "FleetToken[none]" : "FleetToken[set]";
    }
}
