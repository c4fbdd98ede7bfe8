package dev.warmpath.router.routing;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.router.routing.RouteResult.Placed;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Whoever thinks at the same time as others decides as if it had come after them, or before. */
class SimultaneousDecisionsTest extends TwoWorkers {

    private final RequestRouter router =
            new RequestRouter(fleet, index, new ExpectedFirstToken(), () -> now, new RouterId("self"));

    @Test
    void two_equal_prompts_placed_at_the_same_moment_go_to_one_worker_five_thousand_times() throws Exception {
        for (List<Placed> pair : pairs(5_000, /* equal */ true)) {
            assertThat(pair.getFirst().worker()).isSameAs(pair.getLast().worker());
            assertThat(pair).extracting(placed -> placed.decision().cachedTokens()).containsExactlyInAnyOrder(0, 304);
        }
    }

    @Test
    void two_unrelated_prompts_placed_at_the_same_moment_go_to_both_workers_five_thousand_times() throws Exception {
        for (List<Placed> pair : pairs(5_000, /* equal */ false)) {
            assertThat(pair.getFirst().worker()).isNotSameAs(pair.getLast().worker());
        }
    }

    // ---- exactly in between: the policy is asked, and before it answers somebody else books

    @Test
    void what_others_book_at_the_chosen_worker_meanwhile_is_thought_about_again() {
        var policy = new Interrupted(() -> placed(randomTokens(320)));      // to the same idle worker, if nobody looked
        Placed late = (Placed) of(policy).route(prompt(randomTokens(320)), Set.of());

        assertThat(policy.asked).as("one, the other, and the one again").isEqualTo(3);
        assertThat(late.worker()).isNotSameAs(policy.between.getFirst().worker());
    }

    @Test
    void what_others_bring_of_the_prompt_meanwhile_is_thought_about_again() {
        int[] tokens = randomTokens(320);
        var policy = new Interrupted(() -> placed(tokens));
        Placed late = (Placed) of(policy).route(prompt(tokens), Set.of("a"));
        assertThat(late.worker()).as("the other one may go to a, where this one must not").isSameAs(b);
        late.inFlight().close();

        var again = new Interrupted(() -> placed(tokens));
        Placed second = (Placed) of(again).route(prompt(tokens), Set.of());
        assertThat(second.worker()).isSameAs(again.between.getFirst().worker());
        assertThat(second.decision().cachedTokens()).isEqualTo(304);
    }

    /** Nothing in common, and to the other worker: it would have changed nothing. */
    @Test
    void what_others_book_elsewhere_of_something_else_meanwhile_is_no_reason_to_think_again() {
        var policy = new Interrupted(() -> placed(randomTokens(32), Set.of("a")));
        Placed late = (Placed) of(policy).route(prompt(randomTokens(320)), Set.of("b"));

        assertThat(late.worker()).isSameAs(a);
        assertThat(policy.asked).isEqualTo(2);
    }

    /** Whoever is overtaken twice holds everybody else up the third time: the policy is not interrupted then. */
    @Test
    void who_is_overtaken_every_time_decides_in_the_end() {
        var policy = new Interrupted(() -> {
            for (int i = 0; i < 300; i++) {
                placed(randomTokens(32)).inFlight().close();
            }
        });
        policy.timesLeft = 2;
        Placed late = (Placed) of(policy).route(prompt(randomTokens(320)), Set.of());

        assertThat(policy.asked).isEqualTo(2 * 301 + 1);
        late.inFlight().close();
        assertThat(interrupted.inFlight()).isZero();
    }

    private RequestRouter interrupted = router;

    private RequestRouter of(RoutingPolicy policy) {
        interrupted = new RequestRouter(fleet, index, policy, () -> now, new RouterId("self"));
        return interrupted;
    }

    private Placed placed(int[] tokens) {
        return placed(tokens, Set.of());
    }

    private Placed placed(int[] tokens, Set<String> excluded) {
        Placed placed = (Placed) interrupted.route(prompt(tokens), excluded);
        between.add(placed);
        return placed;
    }

    private final List<Placed> between = new ArrayList<>();

    /** Lets somebody else place requests while it thinks, the first time that it is asked. */
    private final class Interrupted implements RoutingPolicy {
        final RoutingPolicy policy = new ExpectedFirstToken();
        final List<Placed> between = SimultaneousDecisionsTest.this.between;
        final Runnable others;
        int timesLeft = 1;
        int asked;
        private boolean isInterrupted;

        Interrupted(Runnable others) {
            this.others = others;
            between.clear();
        }

        @Override
        public PolicyName name() {
            return policy.name();
        }

        @Override
        public Choice choose(RouteQuery query, List<Candidate> candidates) {
            asked++;
            Choice choice = policy.choose(query, candidates);
            if (!isInterrupted && timesLeft-- > 0) {
                isInterrupted = true;
                others.run();
                isInterrupted = false;
            }
            return choice;
        }
    }

    /** Each pair is placed by two threads, and ended before the next. */
    private List<List<Placed>> pairs(int count, boolean equal) throws Exception {
        List<List<Placed>> pairs = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            pairs.add(new ArrayList<>());
        }
        int[][] first = random(count, 1);
        int[][] second = equal ? first : random(count, 2);
        var together = new CyclicBarrier(2);
        together(List.of(placer(first, pairs, together), placer(second, pairs, together)));
        assertThat(router.inFlight()).isZero();
        return pairs;
    }

    private Callable<Void> placer(int[][] prompts, List<List<Placed>> pairs, CyclicBarrier together) {
        return () -> {
            for (int i = 0; i < prompts.length; i++) {
                TokenizedPrompt prompt = prompt(prompts[i]);
                together.await();
                Placed placed = (Placed) router.route(prompt, Set.of());
                synchronized (pairs) {
                    pairs.get(i).add(placed);
                }
                together.await();
                finish(placed);
            }
            return null;
        };
    }

    private static int[][] random(int count, int seed) {
        var random = new Random(seed);
        int[][] prompts = new int[count][];
        for (int i = 0; i < count; i++) {
            prompts[i] = random.ints(320, 0, 500).toArray();
        }
        return prompts;
    }

    /** 4 threads with up to 20 requests each, of 30 prompts that begin alike; each ends in one of three ways. */
    @Test
    void after_eighty_thousand_requests_of_four_threads_the_books_are_empty() throws Exception {
        int[] shared = randomTokens(160);
        List<TokenizedPrompt> prompts = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            int[] tokens = shared.clone();
            int[] own = randomTokens(160);
            System.arraycopy(own, 0, tokens, i * 5, 160 - i * 5);
            prompts.add(prompt(tokens));
        }
        List<Callable<Void>> clients = new ArrayList<>();
        for (int client = 0; client < 4; client++) {
            var random = new Random(client);
            clients.add(() -> {
                Queue<Placed> inFlight = new ArrayDeque<>();
                for (int i = 0; i < 20_000; i++) {
                    inFlight.add((Placed) router.route(prompts.get(random.nextInt(prompts.size())), Set.of()));
                    Placed oldest = random.nextInt(20) < inFlight.size() ? inFlight.remove() : null;
                    if (oldest != null) {
                        switch (random.nextInt(3)) {
                            case 0 -> oldest.inFlight().close();
                            case 1 -> finish(oldest);
                            default -> {
                                finish(oldest);
                                oldest.inFlight().firstToken();
                                oldest.inFlight().close();
                            }
                        }
                    }
                }
                inFlight.forEach(TwoWorkers::finish);
                return null;
            });
        }
        together(clients);

        assertThat(router.inFlight()).isZero();
        now += 2_000_000_001L;
        for (int i = 0; i < 64; i++) {                             // each forgets 256 of 16,384 at most
            explain(prompts.getFirst());
        }
        for (CandidateCost each : explain(prompts.getFirst())) {
            Candidate candidate = each.candidate();
            assertThat(candidate.requests()).isZero();
            assertThat(candidate.pendingTokens()).isZero();
            assertThat(candidate.usedBlocks()).isZero();
            assertThat(candidate.sharedBlocks()).isZero();
            assertThat(candidate.matchedBlocks()).isZero();
            assertThat(candidate.contextTokens()).isZero();
        }
    }

    private List<CandidateCost> explain(TokenizedPrompt prompt) {
        return ((RouteDecision.Routed) router.explain(prompt)).snapshot().candidates();
    }

    private static void together(List<Callable<Void>> tasks) throws Exception {
        try (ExecutorService threads = Executors.newFixedThreadPool(tasks.size())) {
            List<Future<Void>> all = new ArrayList<>();
            for (Callable<Void> task : tasks) {
                all.add(threads.submit(task));
            }
            for (Future<Void> each : all) {
                each.get();
            }
        }
    }
}
