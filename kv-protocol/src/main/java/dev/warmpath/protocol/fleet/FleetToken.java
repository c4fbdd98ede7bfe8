package dev.warmpath.protocol.fleet;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * The secret that routers and workers of one fleet share. Without it nobody could tell a worker from a stranger who
 * wants to read prompts. No router or worker sends it: who has it signs what the other end chose, see {@link Handshake}
 * and {@link RequestProof}. A fleet on one machine may do without: {@link #NONE}.
 *
 * <p>While the secret is changed, process by process, those that know the new one know the <b>previous</b> one, too. They
 * sign with both, the new one first and a comma between them, and take what is signed with either; so they and those
 * that know only one of the two go on to understand each other.
 */
public final class FleetToken {

    public static final FleetToken NONE = new FleetToken();
    private static final String SEAL_ALGORITHM = "HmacSHA256";
    private static final String NO_SEAL = "none";
    private static final String BETWEEN_SIGNATURES = ",";

    /** None, one, or the one to sign with and the previous one. */
    private final List<String> secrets;

    private FleetToken(String... secrets) {
        this.secrets = List.of(secrets);
    }

    /** Absent and blank settings mean {@link #NONE}. */
    public static FleetToken of(@Nullable String token) {
        return of(token, null);
    }

    /**
     * @param previous absent or blank unless the token is being changed
     * @throws IllegalArgumentException if there is a previous token and no token
     */
    public static FleetToken of(@Nullable String token, @Nullable String previous) {
        boolean isChanging = previous != null && !previous.isBlank();
        if (token == null || token.isBlank()) {
            if (isChanging) {
                throw new IllegalArgumentException("there is a previous token, and no token that came after it");
            }
            return NONE;
        }
        return isChanging ? new FleetToken(token.strip(), previous.strip()) : new FleetToken(token.strip());
    }

    public boolean isNone() {
        return secrets.isEmpty();
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
        return isNone() || authorizationHeader != null
                && isAmong(secrets.stream().map(secret -> "Bearer " + secret).toList(), authorizationHeader);
    }

    /**
     * HMAC-SHA-256 of the text, in hex; two of them while the token is changed. Without a token it is {@code none}, and
     * proves nothing.
     *
     * @param text begins with what it is signed for, so that no signature can stand for another
     */
    String sign(String text) {
        return String.join(BETWEEN_SIGNATURES, signatures(text));
    }

    /** True if one of these is a signature of the text; takes equally long for every wrong one. */
    boolean isSignature(String text, String signature) {
        List<String> right = signatures(text);
        return Arrays.stream(signature.split(BETWEEN_SIGNATURES, /* limit */ 2))
                .anyMatch(said -> isAmong(right, said));
    }

    private List<String> signatures(String text) {
        return isNone() ? List.of(NO_SEAL) : secrets.stream().map(secret -> hmac(secret, text)).toList();
    }

    private static String hmac(String secret, String text) {
        try {
            Mac mac = Mac.getInstance(SEAL_ALGORITHM);
            mac.init(new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), SEAL_ALGORITHM));
            return HexFormat.of().formatHex(mac.doFinal(text.getBytes(StandardCharsets.UTF_8)));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java platform has " + SEAL_ALGORITHM, e);
        }
    }

    private static boolean isAmong(List<String> right, String said) {
        return right.stream().anyMatch(each -> MessageDigest.isEqual(
                said.getBytes(StandardCharsets.UTF_8), each.getBytes(StandardCharsets.UTF_8)));
    }

    /**
     * Makes a text that lies where strangers may write recognizable as this fleet's: its signature, a line break, the
     * text. Without a token the first line is {@code none}.
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
