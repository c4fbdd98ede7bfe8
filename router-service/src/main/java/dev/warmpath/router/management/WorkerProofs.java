package dev.warmpath.router.management;

import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Handshake;
import dev.warmpath.protocol.fleet.RequestProof;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Whether a request comes from a worker of the fleet, and for the first time, see {@link RequestProof}. Only who has
 * the token is remembered, so strangers cannot fill the memory.
 */
final class WorkerProofs {

    /** Lives of workers; a replay to a sender that has been forgotten tells what a living worker said once. */
    static final int MAX_SENDERS = 1 << 17;

    private final FleetToken token;
    private final String challenge;
    /** The last number of each sender, the one that was silent longest first. */
    private final Map<String, Long> lastNumbers = new LinkedHashMap<>(16, 0.75f, /* accessOrder */ true);

    /** @param random not to be foreseen by others */
    WorkerProofs(FleetToken token, RandomGenerator random) {
        this.token = token;
        this.challenge = Handshake.newNonce(random);
    }

    /** What proofs for this router have to be made for, to be told to whoever has none. */
    String challenge() {
        return challenge;
    }

    /** False if there can be no proof, whatever the body. */
    boolean isPossible(@Nullable String header) {
        return token.isNone() || RequestProof.parse(header) != null;
    }

    /** True once for each proof. Without a token always. */
    boolean accept(@Nullable String header, String path, byte[] body) {
        if (token.isNone()) {
            return true;
        }
        RequestProof proof = RequestProof.parse(header);
        return proof != null && proof.holds(token, challenge, path, body) && isNew(proof);
    }

    private synchronized boolean isNew(RequestProof proof) {
        Long last = lastNumbers.get(proof.sender());
        if (last != null && last >= proof.number()) {
            return false;
        }
        lastNumbers.put(proof.sender(), proof.number());
        if (lastNumbers.size() > MAX_SENDERS) {
            lastNumbers.remove(lastNumbers.keySet().iterator().next());
        }
        return true;
    }
}
