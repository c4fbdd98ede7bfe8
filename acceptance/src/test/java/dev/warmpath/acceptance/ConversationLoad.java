package dev.warmpath.acceptance;

import dev.warmpath.acceptance.Gateway.Answer;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;

/**
 * Clients that lead one conversation after the other: each turn sends all that was said before, the last answer and
 * something new, as token ids, and goes to the next router. A perfect fleet reuses every full block of it.
 */
final class ConversationLoad {

    private static final int TURNS = 10;
    private static final int ANSWER_TOKENS = 8;
    /** Below the first special token of the model's vocabulary. */
    private static final int ORDINARY_TOKENS = 2_000;

    private final List<Gateway> routers;
    private final int clientCount;
    private final Duration thinkTime;
    private final SplittableRandom random;
    private final Runnable beforeTurn;

    /** @param thinkTime between an answer and the client's next turn; as much again, at random */
    ConversationLoad(List<Gateway> routers, int clientCount, Duration thinkTime, long seed) {
        this(routers, clientCount, thinkTime, seed, () -> {});
    }

    /** @param beforeTurn what a client does, or waits for, each time before it asks */
    ConversationLoad(List<Gateway> routers, int clientCount, Duration thinkTime, long seed, Runnable beforeTurn) {
        this.routers = routers;
        this.beforeTurn = beforeTurn;
        this.clientCount = clientCount;
        this.thinkTime = thinkTime;
        this.random = new SplittableRandom(seed);
    }

    /**
     * One request.
     *
     * @param status         0 if there was no answer at all
     * @param cachedTokens   as the answer reports it, at most {@code reusableTokens}
     * @param reusableTokens full blocks that the conversation's earlier turns have computed
     */
    record Turn(int status, int cachedTokens, int reusableTokens) {}

    /** Share of reusable tokens that were reused, in percent. */
    static double hitPercent(List<Turn> turns) {
        long cached = turns.stream().mapToLong(Turn::cachedTokens).sum();
        return 100.0 * cached / turns.stream().mapToLong(Turn::reusableTokens).sum();
    }

    /** Runs until so many requests have been answered. @return about in order of their sending */
    List<Turn> run(int requestCount) {
        return run(requestCount, () -> {});
    }

    /** The same with something that happens before one half of the requests has been sent and after the other. */
    List<Turn> run(int requestCount, Runnable atHalfTime) {
        var turns = new ConcurrentLinkedQueue<Turn>();
        var sent = new AtomicInteger();
        List<CompletableFuture<Void>> running = new ArrayList<>();
        try (var clients = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int client = 0; client < clientCount; client++) {
                int firstTurn = client * TURNS / clientCount;          // not all conversations begin and end together
                SplittableRandom own = random.split();
                running.add(CompletableFuture.runAsync(() -> {
                    for (int turn = firstTurn; sent.get() < requestCount; turn = 0) {
                        lead(turn, own, requestCount, sent, turns, atHalfTime);
                    }
                }, clients));
            }
            running.forEach(CompletableFuture::join);
        }
        return List.copyOf(turns);
    }

    private void lead(int firstTurn, SplittableRandom own, int requestCount, AtomicInteger sent,
            ConcurrentLinkedQueue<Turn> turns, Runnable atHalfTime) {
        int[] prompt = randomTokens(own, 64, 256);
        int reusable = 0;
        int router = own.nextInt(routers.size());
        for (int turn = firstTurn; turn < TURNS; turn++) {
            sleep(thinkTime.plusNanos(own.nextLong(thinkTime.toNanos() + 1)));
            beforeTurn.run();
            int number = sent.getAndIncrement();
            if (number >= requestCount) {
                return;
            }
            if (number == requestCount / 2) {
                atHalfTime.run();
            }
            Gateway gateway = routers.get(router++ % routers.size());
            Answer answer;
            try {
                answer = gateway.complete(prompt, ANSWER_TOKENS);
            } catch (UncheckedIOException e) {
                turns.add(new Turn(0, 0, reusable));
                return;
            }
            turns.add(new Turn(answer.status(), Math.min(answer.cachedTokens(), reusable), reusable));
            if (answer.status() != 200) {
                return;
            }
            int[] said = gateway.tokenize(answer.text());
            // another reading of the text than the model's own shares no block with it; the last token was not computed
            int computed = prompt.length + (said.length == ANSWER_TOKENS ? ANSWER_TOKENS - 1 : 0);
            reusable = computed / LocalFleet.BLOCK_SIZE * LocalFleet.BLOCK_SIZE;
            prompt = concat(prompt, said, randomTokens(own, 16, 64));
        }
    }

    /** As many as are drawn, too, both bounds included. */
    static int[] randomTokens(SplittableRandom random, int least, int most) {
        return random.ints(random.nextInt(least, most + 1), 0, ORDINARY_TOKENS).toArray();
    }

    static int[] concat(int[]... parts) {
        return List.of(parts).stream().flatMapToInt(IntStream::of).toArray();
    }

    private static void sleep(Duration time) {
        try {
            Thread.sleep(time);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted between two turns", e);
        }
    }
}
