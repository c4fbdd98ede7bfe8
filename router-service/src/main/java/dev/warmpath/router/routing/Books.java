package dev.warmpath.router.routing;

import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.IndexAge;
import dev.warmpath.router.fleet.IndexGrade;
import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What this router has placed and is not done with: by worker, in numbers ({@link WorkerLedger}), and by prompt
 * ({@link PromptTrie}). Safe for use by several threads; whoever takes several steps that belong together holds its
 * monitor meanwhile, for a microsecond.
 *
 * <p>A booked prompt's blocks are promised: they count as held by the worker until the index has them, which is known
 * from its last full block. After a request's end they count for two seconds more, in case the events are late; if it
 * ended before its first token, its blocks may never have been computed and count no more.
 *
 * <pre>
 *   book --> promised --first token--> doubtful: the index is asked now and then --known--> its word counts
 *               '--end--> nothing         '--end--> promised for two seconds at most
 * </pre>
 */
final class Books {

    private static final long LONGEST_EVENT_DELAY_NANOS = 2_000_000_000L;
    /** Bounds memory when events stay away altogether; the oldest give way. */
    private static final int MAX_ENDED = 16_384;
    /** Of all ended ones, likewise; some 100 MB. */
    private static final long MAX_ENDED_BLOCKS = 3_000_000;
    /** In one decision: where the index cannot tell, each costs as much as it has blocks. */
    private static final int MOST_EXPIRED = 256;
    /** Of doubtful ones that are promised no more, so many at most are passed over at a time. */
    private static final int MOST_PASSED = 32;
    /** More than are booked while somebody decides, unless he was held up. */
    private static final int LATEST = 256;

    private final RouterId self;
    private final Map<FleetWorker, WorkerLedger> ledgers = new HashMap<>();
    private final BitSet usedSlots = new BitSet();
    /** By revision: equal keys of two revisions are not equal blocks, and their users not each other's. */
    private final Map<String, PromptTrie> prompts = new HashMap<>();
    /** By their ends; some are promised no more. */
    private final Deque<Booking> ended = new ArrayDeque<>();
    /** Whose blocks the index should have by now, whoever was asked about longest ago first; likewise. */
    private final Deque<Booking> doubtful = new ArrayDeque<>();
    private final Booking[] latest = new Booking[LATEST];
    private long bookings;
    private long endedBlocks;

    /** @param self as the requests say that go to the workers */
    Books(RouterId self) {
        this.self = self;
    }

    // ---- workers

    /** The books on a worker, with its last heartbeat taken in. */
    synchronized WorkerLedger ledger(FleetWorker worker) {
        WorkerLedger ledger = ledgers.get(worker);
        if (ledger == null) {
            int slot = usedSlots.nextClearBit(0);
            usedSlots.set(slot);
            ledger = new WorkerLedger(self, slot, worker.blockCount());
            ledgers.put(worker, ledger);
        }
        ledger.hear(worker.heartbeat());
        return ledger;
    }

    /** Forgets workers that never come back, with what they had. */
    synchronized void forgetWhoIsGone() {
        List<FleetWorker> gone = ledgers.keySet().stream().filter(FleetWorker::isGone).toList();
        for (FleetWorker worker : gone) {
            WorkerLedger ledger = ledgers.remove(worker);
            List.copyOf(ledger.bookings()).forEach(booking -> drop(booking, booking.isRunning, booking.isPromised));
            usedSlots.clear(ledger.slot());
        }
    }

    /** More than any worker's slot. */
    synchronized int slots() {
        return usedSlots.length();
    }

    /** Requests that are placed and not closed. */
    synchronized int inFlight() {
        return ledgers.values().stream().mapToInt(ledger -> ledger.booked().requests()).sum();
    }

    // ---- requests

    /**
     * The worker has the request from now on.
     *
     * @param cachedTokens of its prompt that need not be computed there
     * @param decision     its number
     */
    synchronized Booking book(FleetWorker worker, TokenizedPrompt prompt, int cachedTokens, long decision,
            long nowNanos) {
        WorkerLedger ledger = ledger(worker);
        boolean hasSlot = ledger.booked().requests() + ledger.loadOfOthers().requests() < worker.maxSequences();
        var booking = new Booking(worker, ledger, prompt, cachedTokens, hasSlot, nowNanos);
        if (booking.chain.blockCount() > 0) {
            booking.end = prompts.computeIfAbsent(booking.revision, _ -> new PromptTrie())
                    .add(booking.chain, ledger.slot());
            booking.isPromised = true;
        }
        ledger.bookings().add(booking);
        ledger.book(booking, ownBlocks(booking), decision);
        latest[(int) (bookings % LATEST)] = booking;
        bookings++;
        return booking;
    }

    /** @param isTimed false: how long it took tells nothing of the worker */
    synchronized void firstToken(Booking booking, boolean isTimed, long nowNanos) {
        if (booking.isRunning && !booking.hasFirstToken) {
            booking.ledger.hear(booking.worker.heartbeat());
            booking.ledger.firstToken(booking, isTimed, nowNanos);
            booking.hasFirstToken = true;
            if (booking.isPromised) {
                doubtful.add(booking);
            }
        }
    }

    /**
     * @param isInStep whether the index is, with the worker
     * @param isKnown  whether it has the prompt's blocks
     */
    synchronized void close(Booking booking, boolean isInStep, boolean isKnown, long nowNanos) {
        if (!booking.isRunning) {
            return;
        }
        booking.ledger.hear(booking.worker.heartbeat());
        booking.ledger.close(booking, ownBlocks(booking));
        if (!isInStep && booking.hasFirstToken) {
            promiseAgain(booking);                                 // whatever the index knew: it may be empty by now
        }
        boolean mayComeLate = booking.hasFirstToken && booking.isPromised && !(isInStep && isKnown);
        drop(booking, /* running */ true, booking.isPromised && !mayComeLate);
        if (mayComeLate) {
            booking.closedNanos = nowNanos;
            ended.add(booking);
            endedBlocks += booking.chain.blockCount();
            while (ended.size() > MAX_ENDED || endedBlocks > MAX_ENDED_BLOCKS) {
                forgetOldest(nowNanos);
            }
        }
    }

    private void promiseAgain(Booking booking) {
        if (booking.end != null && !booking.isPromised) {
            trie(booking).promise(booking.end, booking.ledger.slot());
            booking.isPromised = true;
        }
    }

    private PromptTrie trie(Booking booking) {
        return Objects.requireNonNull(prompts.get(booking.revision), "a booking keeps its trie");
    }

    /** Blocks that only this request holds. */
    private int ownBlocks(Booking booking) {
        int partial = booking.blocks - booking.chain.blockCount();
        return booking.end == null ? partial : partial + trie(booking).ownBlocks(booking.end, booking.ledger.slot());
    }

    private void drop(Booking booking, boolean isRunning, boolean isPromised) {
        booking.isRunning &= !isRunning;
        booking.isPromised &= !isPromised;
        if (booking.end != null && (isRunning || isPromised)) {
            PromptTrie trie = trie(booking);
            trie.drop(booking.end, booking.ledger.slot(), isRunning, isPromised);
            if (trie.size() == 0) {
                prompts.remove(booking.revision);
            }
        }
        if (!booking.isRunning && !booking.isPromised) {
            booking.ledger.bookings().remove(booking);
        }
    }

    // ---- promises

    /** Forgets promises that are two seconds over; where the index cannot tell, the history remembers them. */
    synchronized void expire(long nowNanos) {
        for (int i = 0; i < MOST_EXPIRED && !ended.isEmpty()
                && nowNanos - ended.getFirst().closedNanos > LONGEST_EVENT_DELAY_NANOS; i++) {
            forgetOldest(nowNanos);
        }
    }

    private void forgetOldest(long nowNanos) {
        Booking booking = ended.removeFirst();
        endedBlocks -= booking.chain.blockCount();
        if (booking.isPromised) {
            IndexAge age = booking.worker.indexAge(nowNanos);
            if (WorkerLedger.isHistoryRead(age.isInStep(), booking.worker.gradeOf(age))) {
                booking.ledger.remember(booking.chain);
            }
            drop(booking, false, true);
        }
    }

    /** Some of the promises that the index should have by now, others each time. @return how many */
    synchronized int doubtful(@Nullable Booking[] into) {
        int count = 0;
        for (int left = Math.min(MOST_PASSED, doubtful.size()); left > 0 && count < into.length; left--) {
            Booking next = doubtful.removeFirst();
            if (next.isPromised) {
                doubtful.add(next);
                into[count++] = next;
            }
        }
        return count;
    }

    /** The index has its blocks. */
    synchronized void markKnown(Booking booking) {
        if (booking.isPromised) {
            drop(booking, false, true);
        }
    }

    /** What a prompt shares with the requests of each worker. */
    synchronized void share(TokenizedPrompt prompt, SharedPrefixes into) {
        into.clear(slots());
        PromptTrie sameRevision = prompts.get(prompt.model().revision());
        if (sameRevision != null) {
            sameRevision.walk(prompt.chain(), prompt.reusableBlocks(), into);
        }
    }

    // ---- what workers tell

    /** Takes the worker's last heartbeat in, unless it is known. */
    void hear(FleetWorker worker, WorkerLedger ledger) {
        if (!ledger.hasHeard(worker.heartbeat())) {
            synchronized (this) {
                ledger.hear(worker.heartbeat());                   // the last one by now, never one before it
            }
        }
    }

    /** What was sent there while the index could not tell is of no use any more. */
    void forgetHistory(WorkerLedger ledger) {
        if (ledger.hasHistory()) {
            synchronized (this) {
                ledger.forgetHistory();
            }
        }
    }

    /** Leading blocks of the prompt that were sent to the worker while the index could not tell. */
    int history(WorkerLedger ledger, TokenizedPrompt prompt, IndexGrade grade) {
        if (grade == IndexGrade.LOAD || !ledger.hasHistory()) {
            return 0;
        }
        synchronized (this) {
            return ledger.historyBlocks(prompt.chain(), prompt.reusableBlocks());
        }
    }

    // ---- decisions at the same time

    /** How many have been booked, ever. */
    synchronized long bookings() {
        return bookings;
    }

    /** The booking of that number, the first of all being 0; null if it is too long ago. */
    synchronized @Nullable Booking booking(long number) {
        return number < bookings - LATEST ? null : latest[(int) (number % LATEST)];
    }
}
