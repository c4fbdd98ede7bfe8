package dev.warmpath.router.routing;

import dev.warmpath.protocol.fleet.StepCost;
import dev.warmpath.router.fleet.IndexAge;
import dev.warmpath.router.fleet.IndexGrade;
import dev.warmpath.router.health.HealthState;

/**
 * A worker as a policy sees it: 1,000 blocks, 8 sequences, the usual cost of steps; idle, empty, healthy and in step
 * unless said otherwise.
 */
public final class CandidateBuilder {

    private final String id;
    private int matchedBlocks;
    private long pendingTokens;
    private int pendingRequests;
    private int requests;
    private int maxSequences = 8;
    private int usedBlocks;
    private int sharedBlocks;
    private int blockCount = 1_000;
    private long lastChosen;
    private IndexGrade grade = IndexGrade.EXACT;
    private HealthState health = HealthState.HEALTHY;
    private double failureShare;
    private int cachedBlocks;
    private long contextTokens;
    private StepCost stepCost = StepCost.USUAL;
    private int hostBlocks;

    private CandidateBuilder(String id) {
        this.id = id;
    }

    public static CandidateBuilder named(String id) {
        return new CandidateBuilder(id);
    }

    /** It announces them, and is believed. */
    public CandidateBuilder matched(int blocks) {
        matchedBlocks = blocks;
        return this;
    }

    public CandidateBuilder pending(long tokens) {
        pendingTokens = tokens;
        return this;
    }

    /** All of its requests wait for their first token. */
    public CandidateBuilder pending(long tokens, int count) {
        pendingTokens = tokens;
        pendingRequests = count;
        requests = count;
        return this;
    }

    public CandidateBuilder pendingRequests(int count) {
        pendingRequests = count;
        return this;
    }

    public CandidateBuilder requests(int count) {
        requests = count;
        return this;
    }

    /** That it computes at the same time. */
    public CandidateBuilder sequences(int most) {
        maxSequences = most;
        return this;
    }

    public CandidateBuilder used(int blocks) {
        usedBlocks = blocks;
        return this;
    }

    public CandidateBuilder shared(int blocks) {
        sharedBlocks = blocks;
        return this;
    }

    /** Of its pool. */
    public CandidateBuilder blocks(int count) {
        blockCount = count;
        return this;
    }

    public CandidateBuilder chosen(long decision) {
        lastChosen = decision;
        return this;
    }

    public CandidateBuilder graded(IndexGrade how) {
        grade = how;
        return this;
    }

    public CandidateBuilder health(HealthState state) {
        health = state;
        return this;
    }

    public CandidateBuilder ejected() {
        return health(HealthState.EJECTED);
    }

    public CandidateBuilder failing(double share) {
        failureShare = share;
        return this;
    }

    public CandidateBuilder cached(int blocks) {
        cachedBlocks = blocks;
        return this;
    }

    /** Of all its requests. */
    public CandidateBuilder context(long tokens) {
        contextTokens = tokens;
        return this;
    }

    public CandidateBuilder costing(StepCost cost) {
        stepCost = cost;
        return this;
    }

    /** Beside its pool. */
    public CandidateBuilder hostTier(int blocks) {
        hostBlocks = blocks;
        return this;
    }

    public Candidate build() {
        return new Candidate(id, matchedBlocks, pendingTokens, pendingRequests, requests, maxSequences,
                usedBlocks, sharedBlocks, blockCount, lastChosen, IndexAge.IN_STEP, grade, health, failureShare,
                /* promisedBlocks */ matchedBlocks, cachedBlocks, blockCount + hostBlocks,
                contextTokens, stepCost);
    }
}
