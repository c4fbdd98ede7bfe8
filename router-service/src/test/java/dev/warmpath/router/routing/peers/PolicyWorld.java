package dev.warmpath.router.routing.peers;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.routing.Candidate;
import dev.warmpath.router.routing.CandidateBuilder;
import dev.warmpath.router.routing.Choice;
import dev.warmpath.router.routing.RouteQuery;
import dev.warmpath.router.routing.RouteReason;
import dev.warmpath.router.routing.RoutingPolicy;
import java.util.ArrayList;
import java.util.List;

/** Workers with 1,000 blocks of 16 tokens and 8 sequences each, idle unless said otherwise, and a policy among them. */
final class PolicyWorld {

    static final int BLOCK_SIZE = 16;

    private final RoutingPolicy policy;
    private final List<Candidate> candidates = new ArrayList<>();
    private long beginning;
    private long conversation;
    private long draw;

    PolicyWorld(RoutingPolicy policy) {
        this.policy = policy;
    }

    PolicyWorld with(CandidateBuilder... workers) {
        candidates.clear();
        for (CandidateBuilder each : workers) {
            candidates.add(each.build());
        }
        return this;
    }

    PolicyWorld beginning(long key) {
        beginning = key;
        return this;
    }

    PolicyWorld conversation(long key) {
        conversation = key;
        return this;
    }

    PolicyWorld draw(long number) {
        draw = number;
        return this;
    }

    Choice choose(int promptTokens) {
        Choice choice = policy.choose(query(promptTokens), candidates);
        assertThat(choice.costs()).extracting(each -> each.candidate()).isEqualTo(candidates);
        return choice;
    }

    /** Chooses, and lets the choice stand. */
    String serve(int promptTokens) {
        Choice choice = choose(promptTokens);
        Candidate chosen = candidates.get(choice.chosen());
        policy.chose(query(promptTokens), chosen);
        return chosen.workerId();
    }

    /** A prompt of 100 tokens: six blocks and a few tokens. */
    String chosen() {
        return chosen(100);
    }

    String chosen(int promptTokens) {
        return candidates.get(choose(promptTokens).chosen()).workerId();
    }

    RouteReason reason(int promptTokens) {
        return choose(promptTokens).reason();
    }

    List<Long> costs(int promptTokens) {
        return choose(promptTokens).costs().stream().map(each -> each.cost()).toList();
    }

    private RouteQuery query(int promptTokens) {
        return new RouteQuery(promptTokens, BLOCK_SIZE, beginning, conversation, draw, 0, 0, List.of());
    }
}
