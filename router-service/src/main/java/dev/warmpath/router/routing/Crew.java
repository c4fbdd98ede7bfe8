package dev.warmpath.router.routing;

import dev.warmpath.router.fleet.FleetWorker;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;

/**
 * The workers that a request may go to, with the books on each, and the arrays that decisions between them take. Kept
 * for a revision as long as its ready workers are the same. The books' monitor guards it, but for what never changes.
 */
final class Crew {

    private static final int NOBODY = -1;
    /** Of as many decisions at the same time; more make arrays of their own. */
    private static final int MOST_SPARE = 32;

    /** The same ones, in the list that they came in last. */
    private List<FleetWorker> workers;
    private final FleetWorker[] byPlace;
    private final Books books;
    private final WorkerLedger[] ledgers;
    private final int[] placeBySlot;
    private final FleetPressure pressure;
    private final Deque<Deliberation> spare = new ArrayDeque<>();

    /** @param workers never changed. @param pressure of their revision */
    Crew(List<FleetWorker> workers, Books books, FleetPressure pressure) {
        this.workers = workers;
        this.byPlace = workers.toArray(FleetWorker[]::new);
        this.books = books;
        this.pressure = pressure;
        this.ledgers = workers.stream().map(books::ledger).toArray(WorkerLedger[]::new);
        this.placeBySlot = new int[1 + Arrays.stream(ledgers).mapToInt(WorkerLedger::slot).max().orElse(NOBODY)];
        Arrays.fill(placeBySlot, NOBODY);
        for (int place = 0; place < ledgers.length; place++) {
            placeBySlot[ledgers[place].slot()] = place;
        }
    }

    /** The fleet makes all lists anew whenever anything of it changes, of any revision. */
    boolean consistsOf(List<FleetWorker> others) {
        if (workers != others && workers.equals(others)) {
            workers = others;
        }
        return workers == others;
    }

    List<FleetWorker> workers() {
        return workers;
    }

    FleetPressure pressure() {
        return pressure;
    }

    FleetWorker worker(int place) {
        return byPlace[place];
    }

    WorkerLedger ledger(int place) {
        return ledgers[place];
    }

    /** The place of the worker of a booking, negative if it is not among them. */
    int placeOf(Booking booking) {
        int slot = booking.ledger.slot();
        int place = slot < placeBySlot.length ? placeBySlot[slot] : NOBODY;
        return place >= 0 && ledgers[place] == booking.ledger ? place : NOBODY;
    }

    /** To be given back by {@link #giveBack}. */
    Deliberation take() {
        return spare.isEmpty() ? new Deliberation(this, books) : spare.removeLast();
    }

    void giveBack(Deliberation done) {
        if (spare.size() < MOST_SPARE) {
            spare.add(done);
        }
    }
}
