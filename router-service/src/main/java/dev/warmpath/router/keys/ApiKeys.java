package dev.warmpath.router.keys;

import dev.warmpath.router.keys.KeyRefusal.Ambiguous;
import dev.warmpath.router.keys.KeyRefusal.Missing;
import dev.warmpath.router.keys.KeyRefusal.Unknown;
import dev.warmpath.router.metrics.RouterMetrics;
import io.github.bucket4j.TimeMeter;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The keys that are accepted now. A request costs a hash and a comparison with each key, which takes as long whichever
 * it is, and whether it is one. Safe for several threads.
 */
public final class ApiKeys {

    private static final String SCHEME = "bearer";
    /** Ours have 46; a longer one is not even hashed. */
    private static final int MAX_KEY_CHARS = 256;

    private final RouterMetrics metrics;
    private final TimeMeter time;
    private final boolean areAsked;
    private volatile List<Known> known = List.of();
    /** By name; of the last change. */
    private Map<String, Caller> callers = Map.of();

    /** A key and who holds it. */
    private record Known(KeyHash hash, Caller caller) {}

    /** @param areAsked false: everybody gets in */
    ApiKeys(boolean areAsked, RouterMetrics metrics, TimeMeter time) {
        this.areAsked = areAsked;
        this.metrics = metrics;
        this.time = time;
    }

    /** Whether a request needs a key. */
    public boolean areAsked() {
        return areAsked;
    }

    int count() {
        return known.size();
    }

    /** From now on these are accepted, and no others. A name with the limits of before has used of them what it had. */
    synchronized void accept(List<KeyFile.Key> keys) {
        Map<String, Caller> next = new HashMap<>();
        for (KeyFile.Key key : keys) {
            Grant grant = key.grant();
            next.computeIfAbsent(grant.name(),
                    name -> new Caller(grant, callers.get(name), metrics.key(name), time));
        }
        callers = next;
        known = keys.stream().map(key -> new Known(key.hash(), next.get(key.grant().name()))).toList();
    }

    /**
     * Who sends these headers.
     *
     * @param authorization values of the header of this name
     * @param xApiKey       likewise
     * @throws KeyException if there is no key among them, or not exactly one, or nobody has it
     */
    public Caller callerOf(List<String> authorization, List<String> xApiKey) {
        @Nullable String key = null;
        for (String value : authorization) {
            key = oneOf(key, afterScheme(value));
        }
        for (String value : xApiKey) {
            key = oneOf(key, value.strip());
        }
        if (key == null) {
            throw refused(new Missing());
        }
        return find(key);
    }

    private @Nullable String oneOf(@Nullable String key, String next) {
        if (next.isEmpty()) {
            return key;
        }
        if (key != null && !key.equals(next)) {
            throw refused(new Ambiguous());
        }
        return next;
    }

    /** Empty for another scheme: whose it is may be somebody else's business. */
    private static String afterScheme(String value) {
        String text = value.strip();
        return text.length() > SCHEME.length() && text.regionMatches(true, 0, SCHEME, 0, SCHEME.length())
                && text.charAt(SCHEME.length()) == ' ' ? text.substring(SCHEME.length()).strip() : "";
    }

    private Caller find(String key) {
        if (key.length() > MAX_KEY_CHARS || !key.chars().allMatch(c -> c > ' ' && c < 0x7f)) {
            throw refused(new Unknown());
        }
        KeyHash hash = KeyHash.of(key);
        @Nullable Caller found = null;
        for (Known each : known) {
            if (each.hash().isSame(hash)) {
                found = each.caller();
            }
        }
        if (found == null) {
            throw refused(new Unknown());
        }
        return found;
    }

    private KeyException refused(KeyRefusal refusal) {
        metrics.strangerRefused(refusal.cause());
        return new KeyException(refusal);
    }
}
