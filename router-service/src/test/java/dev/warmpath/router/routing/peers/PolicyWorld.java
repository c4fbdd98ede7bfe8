package dev.warmpath.router.routing.peers;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.fleet.IndexGrade;
import dev.warmpath.router.health.HealthState;
import dev.warmpath.router.routing.Candidate;
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

    /** One worker's state, for {@link #with}. */
    static final class Worker {
        private final String id;
        private int matchedBlocks;
        private long pendingTokens;
        private int pendingRequests;
        private int requests;
        private int usedBlocks;
        private int sharedBlocks;
        private long lastChosen;
        private HealthState health = HealthState.HEALTHY;

        private Worker(String id) {
            this.id = id;
        }

        static Worker named(String id) {
            return new Worker(id);
        }

        Worker matched(int blocks) {
            matchedBlocks = blocks;
            return this;
        }

        Worker pending(long tokens) {
            pendingTokens = tokens;
            return this;
        }

        /** All of its requests wait for their first token. */
        Worker pending(long tokens, int count) {
            pendingTokens = tokens;
            pendingRequests = count;
            requests = count;
            return this;
        }

        Worker requests(int count) {
            requests = count;
            return this;
        }

        Worker used(int blocks) {
            usedBlocks = blocks;
            return this;
        }

        /** Leading blocks of the prompt that are among the used ones. */
        Worker shared(int blocks) {
            sharedBlocks = blocks;
            return this;
        }

        Worker chosen(long decision) {
            lastChosen = decision;
            return this;
        }

        Worker ejected() {
            health = HealthState.EJECTED;
            return this;
        }

        private Candidate candidate() {
            return new Candidate(id, matchedBlocks, pendingTokens, pendingRequests, requests, /* maxSequences */ 8,
                    usedBlocks, sharedBlocks, /* blockCount */ 1_000, lastChosen, IndexGrade.EXACT, health,
                    /* failureShare */ 0, matchedBlocks, 0);
        }
    }

    PolicyWorld with(Worker... workers) {
        candidates.clear();
        for (Worker each : workers) {
            candidates.add(each.candidate());
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
        return new RouteQuery(promptTokens, BLOCK_SIZE, beginning, conversation, draw, 0, 0);
    }
}
