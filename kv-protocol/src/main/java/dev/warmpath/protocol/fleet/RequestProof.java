package dev.warmpath.protocol.fleet;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A worker's proof that it belongs to the fleet, with each request that it sends to a router:
 *
 * <pre>
 * authorization: Warmpath sender.number.HMAC("request", challenge, sender, number, path, SHA-256 of the body)
 * </pre>
 *
 * <p>The <b>challenge</b> is the router's, by chance, one for each life of it; a router that refuses a proof sends it
 * along, and the worker tries once more. Without it, what was sent to a router of yesterday, or to somebody who took
 * its address, would hold for a router of today. The <b>sender</b> names the worker process, the <b>number</b> grows with
 * each of its requests: a router takes none a second time. No clocks are compared. While the token is changed there
 * are two HMACs, see {@link FleetToken}.
 *
 * @param sender 32 hex digits, by chance
 * @param number at least 1
 */
public record RequestProof(String sender, long number, String signature) {

    public static final String HEADER = "authorization";
    /** Of a refusal: what a proof has to be made for. */
    public static final String CHALLENGE_HEADER = "warmpath-challenge";

    private static final Pattern TEXT =
            Pattern.compile("Warmpath ([0-9a-f]{32})\\.([1-9][0-9]{0,17})\\.([0-9a-f]{64}(,[0-9a-f]{64})?)");

    /** The header's value. */
    public static String of(FleetToken token, String challenge, String sender, long number, String path, byte[] body) {
        return "Warmpath " + sender + "." + number + "." + token.sign(text(challenge, sender, number, path, body));
    }

    /** @return null if the header is missing or none of these */
    public static @Nullable RequestProof parse(@Nullable String header) {
        Matcher matcher = TEXT.matcher(header == null ? "" : header);
        return matcher.matches()
                ? new RequestProof(matcher.group(1), Long.parseLong(matcher.group(2)), matcher.group(3)) : null;
    }

    public boolean holds(FleetToken token, String challenge, String path, byte[] body) {
        return token.isSignature(text(challenge, sender, number, path, body), signature);
    }

    private static String text(String challenge, String sender, long number, String path, byte[] body) {
        return String.join("\n", "request", challenge, sender, Long.toString(number), path, digest(body));
    }

    private static String digest(byte[] body) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(body));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
