package dev.warmpath.router.keys;

import dev.warmpath.router.keys.KeyRefusal.Measure;
import dev.warmpath.router.keys.KeyRefusal.OperatorsOnly;
import dev.warmpath.router.keys.KeyRefusal.TooLarge;
import dev.warmpath.router.keys.KeyRefusal.UsedUp;
import dev.warmpath.router.metrics.KeyMeters;
import io.github.bucket4j.TimeMeter;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Who a request is from: the name of its key, what it may do, and what is left of its limits. One for all keys of a
 * name, and for all their requests; a request that is under way keeps its own when its key is taken away.
 *
 * <p>Requests are counted when they come. Of tokens some must be left when a request comes; its prompt's are taken when
 * they have been counted, before anything is sent to a worker, and given back if nothing is; those of the answer are
 * taken when it has ended, whether they are left or not. So what an answer takes beyond the limit is missing afterwards.
 */
public final class Caller {

    /** Where no keys are asked for: may do everything, as often as it likes. */
    public static final Caller ANYBODY = new Caller();

    private final @Nullable Grant grant;
    private final @Nullable RateLimit requests;
    private final @Nullable RateLimit tokens;
    private final @Nullable KeyMeters meters;

    private Caller() {
        this.grant = null;
        this.requests = null;
        this.tokens = null;
        this.meters = null;
    }

    /** @param before the same name's until now, whose limits go on if they are the same; null if there is none */
    Caller(Grant grant, @Nullable Caller before, KeyMeters meters, TimeMeter time) {
        boolean goesOn = before != null && before.grant != null && before.grant.hasLimitsOf(grant);
        this.grant = grant;
        this.requests = goesOn ? before.requests : limit(grant.requestsPerMinute(), time);
        this.tokens = goesOn ? before.tokens : limit(grant.tokensPerMinute(), time);
        this.meters = meters;
    }

    private static @Nullable RateLimit limit(int perMinute, TimeMeter time) {
        return perMinute == Grant.NO_LIMIT ? null : new RateLimit(perMinute, time);
    }

    /** The name of its key; null if none is asked for. */
    public @Nullable String name() {
        return grant == null ? null : grant.name();
    }

    public boolean isOperator() {
        return grant == null || grant.isOperator();
    }

    /** Null if there is no limit. */
    public @Nullable RateLimit requests() {
        return requests;
    }

    /** Null if there is no limit. */
    public @Nullable RateLimit tokens() {
        return tokens;
    }

    /** @param what is asked, as a subject @throws KeyException if it is no operator */
    public void refuseUnlessOperator(String what) {
        if (!isOperator()) {
            throw refused(new OperatorsOnly(what, nameOfKey()));
        }
    }

    /**
     * A request comes.
     *
     * @throws KeyException if its key has no request or no token left; then it does not count as one
     */
    public void begin() {
        if (tokens != null) {
            refuseIfWaiting(Measure.TOKENS, tokens, tokens.nanosUntilSome());
        }
        if (requests != null) {
            refuseIfWaiting(Measure.REQUESTS, requests, requests.take(1));
        }
        if (meters != null) {
            meters.letIn();
        }
    }

    /** @throws KeyException if there are not so many left */
    public void takePrompt(int promptTokens) {
        if (tokens == null) {
            return;
        }
        if (promptTokens > tokens.perMinute()) {
            throw refused(new TooLarge(nameOfKey(), promptTokens, tokens.perMinute()));
        }
        refuseIfWaiting(Measure.TOKENS, tokens, tokens.take(promptTokens));
    }

    /** Nobody has computed anything for them. */
    public void giveBackPrompt(int promptTokens) {
        if (tokens != null) {
            tokens.giveBack(promptTokens);
        }
    }

    /**
     * Something was sent to a worker, and that is over.
     *
     * @param promptTokens were taken before
     */
    public void used(int promptTokens, int completionTokens) {
        if (tokens != null) {
            tokens.takeInAnyCase(completionTokens);
        }
        if (meters != null) {
            meters.used(promptTokens, completionTokens);
        }
    }

    private void refuseIfWaiting(Measure of, RateLimit limit, long waitNanos) {
        if (waitNanos > 0) {
            throw refused(new UsedUp(nameOfKey(), of, limit.perMinute(), waitNanos));
        }
    }

    private KeyException refused(KeyRefusal refusal) {
        if (meters != null) {
            meters.refused(refusal.cause());
        }
        return new KeyException(refusal);
    }

    private String nameOfKey() {
        return Objects.requireNonNull(grant).name();
    }
}
