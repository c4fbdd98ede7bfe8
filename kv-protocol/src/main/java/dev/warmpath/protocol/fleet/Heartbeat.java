package dev.warmpath.protocol.fleet;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A worker's state, once a second. Keeps its lease alive and lets the router find a lost tail of the event stream.
 *
 * <p>Between two of those a worker that several routers use sends early ones, when it has taken a request or a request
 * has its first token, so that each router hears of the others' work before the next second. They are the same in all:
 * a lost one is made up for by the next.
 *
 * @param workerId             who
 * @param epoch                which life of it
 * @param running              requests being computed
 * @param waiting              requests queued behind them
 * @param freeBlocks           blocks no running request holds; cached ones among them
 * @param pendingPromptTokens  prompt tokens of running and waiting requests that still have to be computed: not those
 *                             that are computed, nor those that a waiting request found cached when it was last looked
 *                             up, on arrival at the latest
 * @param lastSequence         number of the last event batch
 * @param setSize              announced keys after that batch
 * @param setDigest            digest of them
 * @param draining             true: it finishes what it has and takes nothing new; never taken back in this life.
 *                             Whoever does not know this field goes on sending, and is refused with
 *                             {@link dev.warmpath.protocol.generate.FailureReason#SHUTTING_DOWN}; one that leaves it
 *                             out is not draining
 * @param stepAgeMillis        how long the device step that is running has been running; 0 while none is
 * @param hanging              true while that is longer than it may be: the worker takes nothing new, and ends if it goes
 *                             on. Who leaves the last two out is not hanging
 * @param pendingRequests      of the running and waiting requests, those without a first token; 0 also where a sender
 *                             does not know this field
 * @param routers              of all that, each router's part, at most {@link #MAX_ROUTERS} and each once; who is not
 *                             among fewer than these has nothing there, who is not among so many may have something.
 *                             What is in no part came from routers that do not say who they are, or from more than
 *                             these. Null = the sender does not tell them apart
 * @param contextTokens        tokens of all running and waiting requests, prompts and answers so far, shared ones as
 *                             often as they are shared; 0 also where a sender does not know this field
 * @param stepCost             what its steps take lately; null = it has not measured it yet, or does not
 * @param held                 true while somebody holds it, to step it by hand: it is silent as long as they like, and
 *                             what it takes tells nothing of it. Who leaves it out is not held
 */
public record Heartbeat(
        String workerId,
        long epoch,
        int running,
        int waiting,
        int freeBlocks,
        long pendingPromptTokens,
        long lastSequence,
        int setSize,
        long setDigest,
        @JsonSetter(nulls = Nulls.AS_EMPTY) boolean draining,
        @JsonSetter(nulls = Nulls.AS_EMPTY) long stepAgeMillis,
        @JsonSetter(nulls = Nulls.AS_EMPTY) boolean hanging,
        @JsonSetter(nulls = Nulls.AS_EMPTY) int pendingRequests,
        @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable List<RouterLoad> routers,
        @JsonSetter(nulls = Nulls.AS_EMPTY) long contextTokens,
        @JsonInclude(JsonInclude.Include.NON_NULL) @Nullable StepCost stepCost,
        @JsonSetter(nulls = Nulls.AS_EMPTY) boolean held) {

    /** Most routers whose requests a worker tells apart. */
    public static final int MAX_ROUTERS = 64;

    public Heartbeat {
        notNegative("running", running);
        notNegative("waiting", waiting);
        notNegative("freeBlocks", freeBlocks);
        notNegative("pendingPromptTokens", pendingPromptTokens);
        notNegative("pendingRequests", pendingRequests);
        notNegative("contextTokens", contextTokens);
        long requests = (long) running + waiting;
        atMost("pendingRequests", pendingRequests, requests);
        if (routers != null) {
            routers = List.copyOf(routers);
            atMost("number of routers", routers.size(), MAX_ROUTERS);
            if (routers.stream().map(RouterLoad::router).collect(Collectors.toSet()).size() < routers.size()) {
                throw new IllegalArgumentException("a router is named twice");
            }
            atMost("sum of routers' requests", routers.stream().mapToLong(RouterLoad::requests).sum(), requests);
            atMost("sum of routers' pendingRequests",
                    routers.stream().mapToLong(RouterLoad::pendingRequests).sum(), pendingRequests);
            atMost("sum of routers' pendingPromptTokens",
                    routers.stream().mapToLong(RouterLoad::pendingPromptTokens).reduce(0, Heartbeat::sum),
                    pendingPromptTokens);
        }
    }

    /** Of a worker that takes requests, between two steps, and tells no routers apart. */
    public Heartbeat(String workerId, long epoch, int running, int waiting, int freeBlocks, long pendingPromptTokens,
            long lastSequence, int setSize, long setDigest) {
        this(workerId, epoch, running, waiting, freeBlocks, pendingPromptTokens, lastSequence, setSize, setDigest,
                false, 0, false, 0, null, 0, null, false);
    }

    /** Of a worker that does not tell how long its requests are, nor what its steps take. */
    public Heartbeat(String workerId, long epoch, int running, int waiting, int freeBlocks, long pendingPromptTokens,
            long lastSequence, int setSize, long setDigest, boolean draining, long stepAgeMillis, boolean hanging,
            int pendingRequests, @Nullable List<RouterLoad> routers) {
        this(workerId, epoch, running, waiting, freeBlocks, pendingPromptTokens, lastSequence, setSize, setDigest,
                draining, stepAgeMillis, hanging, pendingRequests, routers, 0, null, false);
    }

    /** What it tells of that router's requests; null if that one has no part, or it tells of no router. */
    public @Nullable RouterLoad of(RouterId router) {
        if (routers != null) {
            for (RouterLoad each : routers) {
                if (each.router().equals(router)) {
                    return each;
                }
            }
        }
        return null;
    }

    private static void notNegative(String field, long value) {
        if (value < 0) {
            throw new IllegalArgumentException(field + " " + value + " is negative");
        }
    }

    private static void atMost(String what, long value, long limit) {
        if (value > limit) {
            throw new IllegalArgumentException(what + " " + value + " is above " + limit);
        }
    }

    private static long sum(long one, long other) {
        return one > Long.MAX_VALUE - other ? Long.MAX_VALUE : one + other;
    }
}
