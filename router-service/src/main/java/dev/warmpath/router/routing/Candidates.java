package dev.warmpath.router.routing;

import dev.warmpath.protocol.fleet.StepCost;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.IndexAge;
import dev.warmpath.router.fleet.IndexGrade;
import dev.warmpath.router.health.HealthState;
import java.util.AbstractList;
import java.util.List;
import java.util.RandomAccess;

/**
 * The candidates of one decision, in columns that are filled anew for the next: a policy that reads these makes no
 * object for any of a thousand workers. To whoever reads on as a list it gives each {@link Candidate} anew when it is
 * asked for it. The columns have the names and meanings of that one's parts.
 */
final class Candidates extends AbstractList<Candidate> implements RandomAccess {

    private final int count;
    private final String[] workerIds;
    private final int[] maxSequences;
    private final int[] blockCounts;
    private final int[] mostCachedBlocks;
    private final int[] matchedBlocks;
    private final int[] sharedBlocks;
    private final int[] promisedBlocks;
    private final int[] cachedBlocks;
    private final long[] pendingTokens;
    private final int[] pendingRequests;
    private final int[] requests;
    private final int[] usedBlocks;
    private final long[] contextTokens;
    private final long[] lastChosen;
    private final IndexAge[] indexAges;
    private final IndexGrade[] grades;
    private final HealthState[] healths;
    private final double[] failureShares;
    private final StepCost[] stepCosts;
    /** Of the columns before, whatever the prompt is. */
    private final double[] fullness;
    private final double[] rowsOverUsualStep;
    private int healthy;
    private int busy;

    private Candidates(int count) {
        this.count = count;
        workerIds = new String[count];
        maxSequences = new int[count];
        blockCounts = new int[count];
        mostCachedBlocks = new int[count];
        matchedBlocks = new int[count];
        sharedBlocks = new int[count];
        promisedBlocks = new int[count];
        cachedBlocks = new int[count];
        pendingTokens = new long[count];
        pendingRequests = new int[count];
        requests = new int[count];
        usedBlocks = new int[count];
        contextTokens = new long[count];
        lastChosen = new long[count];
        indexAges = new IndexAge[count];
        grades = new IndexGrade[count];
        healths = new HealthState[count];
        failureShares = new double[count];
        stepCosts = new StepCost[count];
        fullness = new double[count];
        rowsOverUsualStep = new double[count];
    }

    /** Columns for these workers, in their order, of which those are filled that never change. */
    static Candidates ofWorkers(List<FleetWorker> workers) {
        var candidates = new Candidates(workers.size());
        for (int i = 0; i < workers.size(); i++) {
            FleetWorker worker = workers.get(i);
            candidates.name(i, worker.id(), worker.maxSequences(), worker.blockCount(), worker.keys().blockCount());
        }
        return candidates;
    }

    /** The same candidates in columns: themselves, if they are. */
    static Candidates of(List<Candidate> list) {
        if (list instanceof Candidates columns) {
            return columns;
        }
        var columns = new Candidates(list.size());
        for (int i = 0; i < list.size(); i++) {
            Candidate each = list.get(i);
            columns.name(i, each.workerId(), each.maxSequences(), each.blockCount(), each.mostCachedBlocks());
            columns.prefix(i, each.matchedBlocks(), each.sharedBlocks(), each.promisedBlocks());
            columns.cached(i, each.cachedBlocks());
            columns.load(i, each.pendingTokens(), each.pendingRequests(), each.requests(), each.usedBlocks(),
                    each.contextTokens(), each.lastChosen());
            columns.trust(i, each.indexAge(), each.grade(), each.health(), each.failureShare());
            columns.stepCost(i, each.stepCost());
        }
        columns.count();
        return columns;
    }

    // ---- filling

    private void name(int place, String workerId, int mostSequences, int blockCount, int mostCached) {
        workerIds[place] = workerId;
        maxSequences[place] = mostSequences;
        blockCounts[place] = blockCount;
        mostCachedBlocks[place] = mostCached;
    }

    void prefix(int place, int matched, int shared, int promised) {
        matchedBlocks[place] = matched;
        sharedBlocks[place] = shared;
        promisedBlocks[place] = promised;
    }

    void cached(int place, int cached) {
        cachedBlocks[place] = cached;
        fullness[place] = Candidate.fullness(cached, mostCachedBlocks[place]);
    }

    void load(int place, long tokens, int pendingCount, int requestCount, int used, long context, long decision) {
        pendingTokens[place] = tokens;
        pendingRequests[place] = pendingCount;
        requests[place] = requestCount;
        usedBlocks[place] = used;
        contextTokens[place] = context;
        lastChosen[place] = decision;
    }

    void trust(int place, IndexAge age, IndexGrade grade, HealthState health, double failureShare) {
        indexAges[place] = age;
        grades[place] = grade;
        healths[place] = health;
        failureShares[place] = failureShare;
    }

    /** After the load. */
    void stepCost(int place, StepCost cost) {
        stepCosts[place] = cost;
        rowsOverUsualStep[place] = Candidate.rowsOverUsualStep(cost, requests[place], contextTokens[place]);
    }

    /** To be told once all are filled. */
    void count() {
        healthy = 0;
        busy = 0;
        for (int place = 0; place < count; place++) {
            healthy += isHealthy(place) ? 1 : 0;
            busy += isHealthy(place) && pendingTokens[place] > 0 ? 1 : 0;
        }
    }

    // ---- reading

    @Override
    public int size() {
        return count;
    }

    @Override
    public Candidate get(int place) {
        return new Candidate(workerIds[place], matchedBlocks[place], pendingTokens[place], pendingRequests[place],
                requests[place], maxSequences[place], usedBlocks[place], sharedBlocks[place], blockCounts[place],
                lastChosen[place], indexAges[place], grades[place], healths[place], failureShares[place],
                promisedBlocks[place], cachedBlocks[place], mostCachedBlocks[place], contextTokens[place],
                stepCosts[place]);
    }

    /** Those that take requests. */
    int healthy() {
        return healthy;
    }

    /** Those of them that have prompts to compute. */
    int busy() {
        return busy;
    }

    int matchedBlocks(int place) {
        return matchedBlocks[place];
    }

    long pendingTokens(int place) {
        return pendingTokens[place];
    }

    int pendingRequests(int place) {
        return pendingRequests[place];
    }

    int requests(int place) {
        return requests[place];
    }

    long lastChosen(int place) {
        return lastChosen[place];
    }

    IndexGrade grade(int place) {
        return grades[place];
    }

    boolean isInStep(int place) {
        return indexAges[place].isInStep();
    }

    boolean isHealthy(int place) {
        return healths[place] == HealthState.HEALTHY;
    }

    double failureShare(int place) {
        return failureShares[place];
    }

    StepCost stepCost(int place) {
        return stepCosts[place];
    }

    double fullness(int place) {
        return fullness[place];
    }

    int missingSlots(int place) {
        return Candidate.missingSlots(requests[place], maxSequences[place]);
    }

    /** Blocks that have to be freed before it can begin. @param promptBlocks of the prompt, a partial one too */
    long missingBlocks(int place, int promptBlocks) {
        return Candidate.missingBlocks(promptBlocks, usedBlocks[place], sharedBlocks[place], blockCounts[place]);
    }

    double rowsOverUsualStep(int place) {
        return rowsOverUsualStep[place];
    }
}
