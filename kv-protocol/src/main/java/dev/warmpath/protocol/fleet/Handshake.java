package dev.warmpath.protocol.fleet;

import java.util.HexFormat;
import java.util.random.RandomGenerator;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What router and worker say first on a new connection, so that each knows that the other one has the fleet's token and
 * neither has sent it:
 *
 * <pre>
 * router → worker   GET /internal/v1/handshake
 *                   warmpath-nonce: r
 * worker → router   204
 *                   warmpath-nonce: w, warmpath-worker: id, warmpath-epoch: e
 *                   warmpath-proof: HMAC("worker", r, w, id, e)
 * router → worker   its first request
 *                   warmpath-proof: HMAC("router", r, w, id, e)
 * </pre>
 *
 * <p>The nonces are this connection's, so that what was said on another one proves nothing here. Worker id and epoch
 * are those of the worker that answers: a router that meant another life of it, or another worker, says no more. So
 * whoever took over a dead worker's address can pass the question on to a living one, but its answer does not help.
 *
 * @param routerNonce 32 hex digits, by chance
 * @param workerNonce 32 hex digits, by chance
 */
public record Handshake(String routerNonce, String workerNonce, String workerId, long epoch) {

    public static final String NONCE_HEADER = "warmpath-nonce";
    public static final String WORKER_HEADER = "warmpath-worker";
    public static final String EPOCH_HEADER = "warmpath-epoch";
    public static final String PROOF_HEADER = "warmpath-proof";

    private static final int NONCE_BYTES = 16;
    private static final Pattern NONCE = Pattern.compile("[0-9a-f]{" + 2 * NONCE_BYTES + "}");

    public Handshake {
        if (!isNonce(routerNonce) || !isNonce(workerNonce)) {
            throw new IllegalArgumentException("a nonce has " + 2 * NONCE_BYTES + " hex digits");
        }
    }

    /** @param random not to be foreseen by others */
    public static String newNonce(RandomGenerator random) {
        byte[] bytes = new byte[NONCE_BYTES];
        random.nextBytes(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    public static boolean isNonce(@Nullable String text) {
        return text != null && NONCE.matcher(text).matches();
    }

    public String workerProof(FleetToken token) {
        return token.sign(text("worker"));
    }

    public boolean isProvedByWorker(FleetToken token, @Nullable String proof) {
        return proof != null && token.isSignature(text("worker"), proof);
    }

    public String routerProof(FleetToken token) {
        return token.sign(text("router"));
    }

    public boolean isProvedByRouter(FleetToken token, @Nullable String proof) {
        return proof != null && token.isSignature(text("router"), proof);
    }

    private String text(String side) {
        return String.join("\n", "handshake", side, routerNonce, workerNonce, Long.toString(epoch), workerId);
    }
}
