package dev.warmpath.router.routing;

import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.StepCost;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.IndexAge;
import dev.warmpath.router.fleet.IndexGrade;
import dev.warmpath.router.health.Standing;
import dev.warmpath.router.prefix.KvEventApplier;
import dev.warmpath.router.prefix.MatchedBlocks;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.router.routing.WorkerLedger.Load;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One decision between the workers of a crew, from reading the books to the candidates that a policy chooses from, and
 * the arrays that this takes. These serve one decision after another: a worker of which nothing has changed since the
 * last one keeps its row, and only what it holds of this prompt is new. One thread at a time.
 */
final class Deliberation {

    /** Promises that the index is asked about in passing: a decision brings one, and most are known when they end. */
    private static final int MOST_DOUBTFUL = 4;

    private final Crew crew;
    private final Books books;
    private final Candidates candidates;
    private final @Nullable Row[] rows;
    /** How much of what each announces is believed. */
    private final double[] credits;
    private final SharedPrefixes shared = new SharedPrefixes();
    private final MatchedBlocks indexed;
    /** Promises that the index is to be asked about, and those of them that it has kept. */
    private final @Nullable Booking[] doubtful = new Booking[MOST_DOUBTFUL];
    private int doubtfulCount;
    private int knownCount;
    private StepCost usualCost = StepCost.USUAL;
    private boolean isToBeBooked;
    private long nowNanos;
    private long bookings;
    private long draw;

    /**
     * What a worker's row was made from. While all of these are the same objects the row is right, however much time
     * goes by: one that changes with time is not kept.
     */
    private record Row(@Nullable Heartbeat heartbeat, KvEventApplier.Position position, Standing standing, Load own,
            Load others) {}

    Deliberation(Crew crew, Books books) {
        this.crew = crew;
        this.books = books;
        this.candidates = Candidates.ofWorkers(crew.workers());
        this.rows = new Row[crew.workers().size()];
        this.credits = new double[rows.length];
        this.indexed = new MatchedBlocks(crew.workers().stream().map(FleetWorker::keys).toList());
    }

    Crew crew() {
        return crew;
    }

    /** Whom a policy is to choose from; until the next decision. */
    Candidates candidates() {
        return candidates;
    }

    /** How many requests of this router use the prompt's beginning, by depth. */
    List<PrefixUse> uses() {
        return shared.uses();
    }

    /** When the books were read. */
    long nowNanos() {
        return nowNanos;
    }

    /** By chance. */
    long draw() {
        return draw;
    }

    // ---- with the books locked

    /**
     * Reads what the prompt shares with requests in flight.
     *
     * @param toBeBooked false: it is only asked what would be, and nothing changes but what time changes
     * @param chance     any number
     */
    void look(TokenizedPrompt prompt, boolean toBeBooked, long chance, long now) {
        isToBeBooked = toBeBooked;
        nowNanos = now;
        draw = chance;
        books.expire(now);
        bookings = books.bookings();
        books.share(prompt, shared);
        doubtfulCount = isToBeBooked ? books.doubtful(doubtful) : 0;
        knownCount = 0;
    }

    /** Tells the books which promises the index has kept. */
    void settle() {
        for (int i = 0; i < knownCount; i++) {
            books.markKnown(Objects.requireNonNull(doubtful[i]));
            doubtful[i] = null;
        }
    }

    /**
     * Whether the choice might be another one for what has been booked since the books were read: at that worker, or
     * with more of the prompt than its worker had.
     *
     * @param chosen its place
     */
    boolean isOutdated(TokenizedPrompt prompt, int chosen) {
        for (long number = bookings; number < books.bookings(); number++) {
            Booking other = books.booking(number);
            int place = other == null ? chosen : crew.placeOf(other);
            if (place == chosen || other != null && place >= 0 && candidates.grade(place) != IndexGrade.LOAD
                    && other.commonBlocks(prompt.chain(), prompt.reusableBlocks()) > candidates.matchedBlocks(place)) {
                return true;
            }
        }
        return false;
    }

    // ---- without

    /**
     * Fills the candidates. The index is asked after the books were read: what it learns in between counts twice rather
     * than not at all.
     */
    void weigh(PrefixIndex index, TokenizedPrompt prompt) {
        askAboutDoubtful(index);
        indexed.read(index.match(prompt.chain(), prompt.reusableBlocks()));
        findUsualCost();
        for (int place = 0; place < rows.length; place++) {
            FleetWorker worker = crew.worker(place);
            WorkerLedger ledger = crew.ledger(place);
            Heartbeat heartbeat = worker.heartbeat();
            KvEventApplier.Position position = worker.events().position();
            Standing standing = worker.health().standing();
            Row row = rows[place];
            if (row == null || row.heartbeat != heartbeat || row.position != position || row.standing != standing
                    || row.own != ledger.booked() || row.others != ledger.loadOfOthers()) {
                fill(place, worker, ledger, heartbeat, position, standing);
            }
            share(prompt, place, ledger, indexed.at(place));
        }
        candidates.count();
    }

    /** Notes which promises the index has kept. */
    private void askAboutDoubtful(PrefixIndex index) {
        for (int i = 0; i < doubtfulCount; i++) {
            Booking promise = Objects.requireNonNull(doubtful[i]);
            doubtful[i] = null;
            if (promise.isIn(index, nowNanos)) {
                doubtful[knownCount++] = promise;
            }
        }
    }

    /** Of a worker that has not told what its steps take: as one that runs the same model. */
    private void findUsualCost() {
        StepCost usual = StepCost.USUAL;
        for (FleetWorker worker : crew.workers()) {
            StepCost told = worker.stepCost();
            if (told != null) {
                usual = told;
                break;
            }
        }
        if (!usual.equals(usualCost)) {
            usualCost = usual;
            Arrays.fill(rows, null);
        }
    }

    private void fill(int place, FleetWorker worker, WorkerLedger ledger, @Nullable Heartbeat heartbeat,
            KvEventApplier.Position position, Standing standing) {
        IndexAge age = worker.indexAge(nowNanos);
        IndexGrade grade = worker.gradeOf(age);
        if (isToBeBooked) {
            books.hear(worker, ledger);
            if (!WorkerLedger.isHistoryRead(age.isInStep(), grade)) {
                books.forgetHistory(ledger);
            }
        }
        Load own = ledger.booked();
        Load others = ledger.loadOfOthers(heartbeat);
        candidates.load(place, own.pendingTokens() + others.pendingTokens(),
                own.pendingRequests() + others.pendingRequests(), own.requests() + others.requests(),
                own.blocks() + others.blocks(), own.contextTokens() + others.contextTokens(), ledger.lastChosen());
        candidates.trust(place, age, grade, standing.state(nowNanos), standing.failureShare(nowNanos));
        candidates.cached(place, position.setSize());
        StepCost told = worker.stepCost();
        candidates.stepCost(place, told == null ? usualCost : told);
        credits[place] = standing.credit();
        boolean lasts = isToBeBooked && age.isInStep() && standing.isSteady(nowNanos) && ledger.hasHeard(heartbeat);
        rows[place] = lasts ? new Row(heartbeat, position, standing, own, others) : null;
    }

    /** @param announced leading blocks of the prompt that the worker announces */
    private void share(TokenizedPrompt prompt, int place, WorkerLedger ledger, int announced) {
        IndexGrade grade = candidates.grade(place);
        int running = shared.running(ledger.slot());
        int promised = shared.promised(ledger.slot());
        int own = candidates.isInStep(place)
                // what runs there and was known counts as far as the index still has it, whatever else it is believed
                ? Math.max(promised, Math.min(running, announced))
                : Math.max(Math.max(promised, running), books.history(ledger, prompt, grade));
        int believed = (int) Math.round(announced * credits[place]);
        candidates.prefix(place, grade == IndexGrade.LOAD ? 0 : Math.max(believed, own), running,
                grade.isInTime() ? announced : 0);
    }
}
