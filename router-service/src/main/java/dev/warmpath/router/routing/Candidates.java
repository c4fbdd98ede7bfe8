package dev.warmpath.router.routing;

import dev.warmpath.protocol.fleet.StepCost;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.IndexAge;
import dev.warmpath.router.fleet.IndexGrade;
import dev.warmpath.router.health.HealthState;
import dev.warmpath.router.routing.WorkerLedger.Load;
import java.util.AbstractList;
import java.util.Arrays;
import java.util.List;
import java.util.RandomAccess;

/**
 * The candidates of one decision, in columns that are filled anew for the next one, without an object for any worker. A
 * {@link Candidate} is made when it is asked for, and where it does not outlive the loop that asks, the compiler makes
 * none at all.
 */
final class Candidates extends AbstractList<Candidate> implements RandomAccess {

    private final List<FleetWorker> workers;
    private final Load[] own;
    private final Load[] others;
    private final int[] matchedBlocks;
    private final int[] sharedBlocks;
    private final int[] promisedBlocks;
    private final int[] cachedBlocks;
    private final long[] lastChosen;
    private final IndexAge[] indexAges;
    private final IndexGrade[] grades;
    private final HealthState[] healths;
    private final double[] failureShares;
    private final StepCost[] stepCosts;

    Candidates(List<FleetWorker> workers) {
        this.workers = workers;
        int count = workers.size();
        own = new Load[count];
        others = new Load[count];
        Arrays.fill(own, Load.NONE);
        Arrays.fill(others, Load.NONE);
        matchedBlocks = new int[count];
        sharedBlocks = new int[count];
        promisedBlocks = new int[count];
        cachedBlocks = new int[count];
        lastChosen = new long[count];
        indexAges = new IndexAge[count];
        grades = new IndexGrade[count];
        healths = new HealthState[count];
        failureShares = new double[count];
        stepCosts = new StepCost[count];
    }

    // ---- to be filled, every column for every worker

    void load(int number, Load ownLoad, Load loadOfOthers, long lastDecision) {
        own[number] = ownLoad;
        others[number] = loadOfOthers;
        lastChosen[number] = lastDecision;
    }

    void blocks(int number, int matched, int shared, int promised, int cached) {
        matchedBlocks[number] = matched;
        sharedBlocks[number] = shared;
        promisedBlocks[number] = promised;
        cachedBlocks[number] = cached;
    }

    void trust(int number, IndexAge age, IndexGrade grade, HealthState health, double failureShare) {
        indexAges[number] = age;
        grades[number] = grade;
        healths[number] = health;
        failureShares[number] = failureShare;
    }

    void stepCost(int number, StepCost cost) {
        stepCosts[number] = cost;
    }

    // ---- to be read

    @Override
    public int size() {
        return workers.size();
    }

    @Override
    public Candidate get(int number) {
        FleetWorker worker = workers.get(number);
        Load ours = own[number];
        Load theirs = others[number];
        return new Candidate(
                worker.id(),
                matchedBlocks[number],
                ours.pendingTokens() + theirs.pendingTokens(),
                ours.pendingRequests() + theirs.pendingRequests(),
                ours.requests() + theirs.requests(),
                worker.maxSequences(),
                ours.blocks() + theirs.blocks(),
                sharedBlocks[number],
                worker.blockCount(),
                lastChosen[number],
                indexAges[number],
                grades[number],
                healths[number],
                failureShares[number],
                promisedBlocks[number],
                cachedBlocks[number],
                worker.keys().blockCount(),
                ours.contextTokens() + theirs.contextTokens(),
                stepCosts[number]);
    }

    /** Leading blocks of the prompt that this one is taken to hold. */
    int matchedBlocks(int number) {
        return matchedBlocks[number];
    }
}
