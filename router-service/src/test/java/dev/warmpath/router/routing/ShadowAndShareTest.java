package dev.warmpath.router.routing;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.routing.RouteDecision.Routed;
import dev.warmpath.router.routing.RouteResult.Placed;
import dev.warmpath.router.routing.peers.LeastRequests;
import dev.warmpath.router.routing.peers.RandomChoice;
import dev.warmpath.router.routing.peers.RoundRobin;
import dev.warmpath.router.routing.peers.StickySession;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;

/** What one policy decides and others would. */
class ShadowAndShareTest extends TwoWorkers {

    // ---- a shadow

    /** 640 tokens are 40 blocks, 39 of which need not be computed again: 16 tokens there, 640 where the turn is. */
    @Test
    void a_shadow_tells_whom_it_would_have_chosen_and_what_that_would_have_cost() {
        RequestRouter router = router(new ExpectedFirstToken(), new RoundRobin());
        int[] tokens = randomTokens(640);
        Placed first = serve(router, prompt(tokens));
        ShadowChoice agreed = shadow(first.decision());
        Placed second = serve(router, prompt(tokens));

        assertThat(agreed.isSame()).isTrue();
        assertThat(agreed.workerId()).isEqualTo(first.worker().id());
        assertThat(agreed.extraTokens()).isZero();
        assertThat(second.worker()).isSameAs(first.worker());
        assertThat(shadow(second.decision())).isEqualTo(new ShadowChoice(PolicyName.ROUND_ROBIN,
                other(first.worker()).id(), /* isSame */ false, /* liveTokens */ 16, /* shadowTokens */ 640));
        assertThat(shadow(second.decision()).extraTokens()).isEqualTo(624);
    }

    @Test
    void a_shadow_that_holds_on_to_the_prefix_saves_tokens_of_a_policy_that_does_not() {
        RequestRouter router = router(new RoundRobin(), new ExpectedFirstToken());
        int[] tokens = randomTokens(640);
        serve(router, prompt(tokens));

        assertThat(shadow(serve(router, prompt(tokens)).decision()).extraTokens()).isEqualTo(-624);
    }

    @Test
    void decisions_are_the_same_with_a_shadow_as_without() {
        List<String> without = homes(router(new ExpectedFirstToken(), null));
        now += Duration.ofSeconds(10).toNanos();
        two_workers_are_there_anew();
        List<String> with = homes(router(new ExpectedFirstToken(), new StickySession()));

        assertThat(with).isEqualTo(without).contains("a", "b");
    }

    /** It is asked 100 times while b is busier, and would have gone to a; it stands once, when a is. */
    @Test
    void being_asked_what_would_be_decided_makes_neither_policy_remember() {
        RequestRouter router = router(new StickySession(), new StickySession());
        TokenizedPrompt prompt = TokenizedPrompt.of(model, randomTokens(100), /* conversation */ 5);
        Placed busy = (Placed) router.route(prompt(randomTokens(50)), Set.of("a"));
        for (int i = 0; i < 100; i++) {
            Routed asked = explain(router, prompt);
            assertThat(asked.workerId()).isEqualTo("a");
            assertThat(shadow(asked).workerId()).isEqualTo("a");
        }
        finish(busy);
        router.route(prompt(randomTokens(50)), Set.of("b"));
        Placed placed = (Placed) router.route(prompt, Set.of());

        assertThat(placed.worker()).isSameAs(b);
        assertThat(shadow(placed.decision()).workerId()).isEqualTo("b");
    }

    @Test
    void a_shadow_remembers_its_own_choices_and_not_those_of_the_policy_that_decides() {
        RequestRouter router = router(new RoundRobin(), new StickySession());
        TokenizedPrompt prompt = TokenizedPrompt.of(model, randomTokens(100), 5);
        String home = shadow(serve(router, prompt).decision()).workerId();
        for (int turn = 0; turn < 6; turn++) {
            assertThat(shadow(serve(router, prompt).decision()).workerId()).isEqualTo(home);
        }
    }

    /** The request goes to the worker on trial; neither policy would have chosen it. */
    @Test
    void a_trial_is_no_disagreement() {
        RequestRouter router = router(new ExpectedFirstToken(), new LeastRequests());
        eject(a);
        now += Duration.ofSeconds(2).toNanos();
        Routed trial = serve(router, prompt(randomTokens(100))).decision();

        assertThat(trial.reason()).isEqualTo(RouteReason.TRIAL);
        assertThat(trial.workerId()).isEqualTo("a");
        assertThat(shadow(trial)).isEqualTo(new ShadowChoice(PolicyName.LEAST_REQUESTS, "b", true, 100, 100));
    }

    @Test
    void a_shadow_that_fails_costs_no_request_and_is_named_once() {
        var said = new ListAppender<ILoggingEvent>();
        said.start();
        var log = (Logger) LoggerFactory.getLogger(RequestRouter.class);
        log.addAppender(said);
        RequestRouter router = router(new ExpectedFirstToken(), new RoutingPolicy() {
            @Override
            public PolicyName name() {
                return PolicyName.LMETRIC;
            }

            @Override
            public Choice choose(RouteQuery query, List<Candidate> candidates) {
                throw new IllegalStateException("a shadow's fault");
            }
        });
        for (int i = 0; i < 3; i++) {
            assertThat(explain(router, prompt(randomTokens(100))).shadow()).isNull();
            assertThat(serve(router, prompt(randomTokens(100))).decision().shadow()).isNull();
        }
        log.detachAppender(said);

        assertThat(router.inFlight()).isZero();
        assertThat(said.list).singleElement()
                .hasToString("[WARN] The shadow lmetric has failed; requests go on without it, and this is said once");
    }

    // ---- a share

    @Test
    void a_share_of_the_conversations_is_decided_by_the_other_policy() {
        assertThat(decidedByRoundRobin(0, 1_000)).isZero();
        assertThat(decidedByRoundRobin(0.3, 1_000)).isBetween(270, 330);
        assertThat(decidedByRoundRobin(1, 1_000)).isEqualTo(1_000);
    }

    @Test
    void all_turns_of_a_conversation_are_decided_by_one_policy_at_every_router() {
        RequestRouter one = sharing(0.5);
        RequestRouter other = sharing(0.5);
        List<PolicyName> seen = new ArrayList<>();
        for (long conversation = 0; conversation < 50; conversation++) {
            PolicyName first = policy(one, conversation, 100);
            assertThat(policy(one, conversation, 900)).isEqualTo(first);
            assertThat(policy(other, conversation, 300)).isEqualTo(first);
            seen.add(first);
        }
        assertThat(seen).contains(PolicyName.EXPECTED_FIRST_TOKEN, PolicyName.ROUND_ROBIN);
    }

    @Test
    void who_is_in_a_small_share_is_in_a_larger_one_too() {
        RequestRouter small = sharing(0.2);
        RequestRouter large = sharing(0.6);
        for (long conversation = 0; conversation < 200; conversation++) {
            if (policy(small, conversation, 20) == PolicyName.ROUND_ROBIN) {
                assertThat(policy(large, conversation, 20)).isEqualTo(PolicyName.ROUND_ROBIN);
            }
        }
    }

    // ---- what policies go by

    @Test
    void chance_is_drawn_once_a_decision_so_that_what_was_explained_is_what_is_done() {
        var plan = PolicyPlan.of(new RandomChoice());
        var router = new RequestRouter(fleet, index, plan, new SplittableRandom(7), () -> now, new RouterId("r"));
        List<String> homes = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            TokenizedPrompt prompt = prompt(randomTokens(100));
            String explained = explain(router, prompt).workerId();
            assertThat(explain(router, prompt).workerId()).isEqualTo(explained);
            homes.add(serve(router, prompt).worker().id());
            assertThat(homes.getLast()).isEqualTo(explained);
        }
        assertThat(homes).contains("a", "b");
    }

    /** 256 tokens are 16 blocks; what comes after them makes no difference, what is in them does. */
    @Test
    void prompts_that_share_256_tokens_have_one_beginning() {
        int[] tokens = randomTokens(300);
        int[] longer = Arrays.copyOf(tokens, 400);
        longer[256]++;
        int[] different = tokens.clone();
        different[255]++;

        assertThat(query(longer).beginning()).isEqualTo(query(tokens).beginning());
        assertThat(query(different).beginning()).isNotEqualTo(query(tokens).beginning());
        assertThat(query(1, 2).beginning()).as("without a full block, of its tokens")
                .isEqualTo(query(1, 2).beginning())
                .isNotEqualTo(query(1, 3).beginning());
        assertThat(query(tokens).conversation()).as("of tokens nothing else is known")
                .isEqualTo(query(tokens).beginning());
    }

    private RouteQuery query(int... tokens) {
        return prompt(tokens).query(/* draw */ 0, /* busyShare */ 0, /* reuse */ 0, List.of());
    }

    // ---- routers of the small fleet

    private int decidedByRoundRobin(double share, int conversations) {
        RequestRouter router = sharing(share);
        int decided = 0;
        for (long conversation = 0; conversation < conversations; conversation++) {
            decided += policy(router, conversation, 20) == PolicyName.ROUND_ROBIN ? 1 : 0;
        }
        return decided;
    }

    private PolicyName policy(RequestRouter router, long conversation, int promptTokens) {
        return serve(router, TokenizedPrompt.of(model, randomTokens(promptTokens), conversation)).decision().policy();
    }

    private RequestRouter sharing(double share) {
        return new RequestRouter(fleet, index,
                new PolicyPlan(new ExpectedFirstToken(), share, new RoundRobin(), null), new SplittableRandom(1),
                () -> now, new RouterId("r"));
    }

    private RequestRouter router(RoutingPolicy policy, @Nullable RoutingPolicy shadow) {
        return new RequestRouter(fleet, index, new PolicyPlan(policy, 0, null, shadow), new SplittableRandom(1),
                () -> now, new RouterId("r"));
    }

    private List<String> homes(RequestRouter router) {
        var prompts = new Random(5);
        List<String> homes = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            homes.add(serve(router, prompt(prompts.ints(100 + i % 3 * 300, 0, 500).toArray())).worker().id());
        }
        return homes;
    }

    private FleetWorker other(FleetWorker one) {
        return one == a ? b : a;
    }

    private static Placed serve(RequestRouter router, TokenizedPrompt prompt) {
        Placed placed = (Placed) router.route(prompt, Set.of());
        finish(placed);
        return placed;
    }

    private static Routed explain(RequestRouter router, TokenizedPrompt prompt) {
        return (Routed) router.explain(prompt);
    }

    private static ShadowChoice shadow(Routed routed) {
        return Objects.requireNonNull(routed.shadow());
    }
}
