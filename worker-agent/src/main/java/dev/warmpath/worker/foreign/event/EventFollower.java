package dev.warmpath.worker.foreign.event;

import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.worker.engine.BlockChangeListener;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Keeps an engine's batches in sequence: what comes twice is dropped, what is missing is asked for, and where that is
 * gone, or the engine began anew, everything is forgotten. What is then left goes to the books, and from there to the
 * listener. Knows messages, not sockets.
 *
 * <p>An engine counts its batches from 0 in each of its lives and says nothing of lives, as captured from vLLM 0.32
 * over a restart. Three signs tell a new one: a live number that is not above the last live one; a batch that has
 * another time than it had; and that after a new connection the last batch is not known there. For the last two,
 * whatever is asked begins with the last batch that was taken over.
 *
 * <p>While a repair is under way no live message may be handed in: they wait in their socket, which is bounded. One
 * thread owns it.
 */
final class EventFollower {

    /** Nothing is to be asked of the replay socket. */
    static final long NOTHING = -1;

    private static final long UNKNOWN = -1;

    private final EngineBlocks blocks;
    private final BlockChangeListener listener;
    private final boolean hasReplay;

    /** Number of the next batch; unknown until one was seen, or a replay said that there is none. */
    private long expected = UNKNOWN;
    private long lastLive = -1;
    private double lastTimeSeconds = Double.NaN;
    private boolean repairing;
    /** Something of what was asked for has come. */
    private boolean answered;
    /** The live message that showed a gap. */
    private @Nullable Message waiting;

    private long batches;
    private long replayed;
    private long broken;
    private long unknown;
    private long gaps;
    private long lostGaps;
    private long restarts;

    /** @param batch null if it is broken */
    private record Message(long sequence, @Nullable EngineBatch batch) {}

    /** @param hasReplay false if the engine keeps no batches to be asked for */
    EventFollower(EngineBlocks blocks, BlockChangeListener listener, boolean hasReplay) {
        this.blocks = blocks;
        this.listener = listener;
        this.hasReplay = hasReplay;
    }

    /**
     * To be called when the engine was connected to, for the first time or again.
     *
     * @return the first batch to ask the replay socket for, or {@link #NOTHING}
     */
    long connected() {
        return hasReplay ? question(Math.max(expected - 1, 0)) : NOTHING;
    }

    /**
     * Takes a message as it was published.
     *
     * @param sequence the message's number, without a sign
     * @return the first batch to ask the replay socket for, or {@link #NOTHING}
     */
    long live(long sequence, byte[] payload) {
        if (sequence < 0) {
            broken++;                                               // an end mark has no place here
            return NOTHING;
        }
        @Nullable EngineBatch batch = decode(payload);
        if (sequence <= lastLive || isOfAnotherLife(sequence, batch)) {
            beginAnew();
        }
        lastLive = sequence;
        if (expected == UNKNOWN && !hasReplay) {
            expected = sequence;
        }
        long wanted = Math.max(expected, 0);
        if (sequence > wanted) {
            gaps += expected == UNKNOWN ? 0 : 1;
            if (hasReplay) {
                waiting = new Message(sequence, batch);
                return question(Math.max(wanted - 1, 0));
            }
            skipTo(sequence);
        }
        if (sequence >= wanted) {
            take(sequence, batch);
        }
        return NOTHING;
    }

    /** A message came that is not even made like one. */
    void malformed() {
        broken++;
    }

    /**
     * Takes an answer of the replay socket. Those that come when nothing was asked for, or is any more, are dropped.
     *
     * @param sequence the batch's number; negative at the end of an answer
     * @return the first batch to ask for anew, in place of what was asked for before, or {@link #NOTHING}
     */
    long replayed(long sequence, byte[] payload) {
        if (!repairing) {
            return NOTHING;
        }
        if (sequence < 0) {
            return endOfAnswer();
        }
        answered = true;
        @Nullable EngineBatch batch = decode(payload);
        if (sequence < expected) {
            boolean otherLife = sequence == expected - 1 && batch != null && differs(batch.timeSeconds());
            return otherLife ? restartFound() : NOTHING;
        }
        if (sequence > Math.max(expected, 0)) {
            skipTo(sequence);
        }
        take(sequence, batch);
        replayed++;
        return NOTHING;
    }

    /** The answer is complete, or it is not worth while to wait for the rest. */
    void endRepair() {
        repairing = false;
        @Nullable Message message = waiting;
        waiting = null;
        if (message == null || message.sequence() < expected) {
            return;
        }
        if (message.sequence() > expected) {
            skipTo(message.sequence());
        }
        take(message.sequence(), message.batch());
    }

    boolean isRepairing() {
        return repairing;
    }

    EventCounts counts() {
        return blocks.counts(new EventCounts(
                batches, replayed, broken, unknown, gaps, lostGaps, restarts, 0, 0, 0, 0, 0, 0, 0));
    }

    /** An engine that was connected to anew and does not know the last batch is another one. */
    private long endOfAnswer() {
        if (!answered && waiting == null && expected > 0) {
            return restartFound();
        }
        endRepair();
        return NOTHING;
    }

    private long restartFound() {
        beginAnew();
        return question(0);
    }

    private long question(long firstSequence) {
        repairing = true;
        answered = false;
        return firstSequence;
    }

    /**
     * After a replay that ran ahead of the live messages, those come once more, with the same times. A batch of a
     * number that was taken over already, but of a later time, is another one.
     */
    private boolean isOfAnotherLife(long sequence, @Nullable EngineBatch batch) {
        return expected != UNKNOWN && sequence < expected && batch != null && batch.timeSeconds() > lastTimeSeconds;
    }

    private boolean differs(double timeSeconds) {
        return !Double.isNaN(timeSeconds) && !Double.isNaN(lastTimeSeconds) && timeSeconds != lastTimeSeconds;
    }

    private void beginAnew() {
        restarts++;
        expected = 0;
        lastLive = -1;
        lastTimeSeconds = Double.NaN;
        announce(blocks.forget());
    }

    /** What lies before a number is lost; of what came before that nobody knows what became of it. */
    private void skipTo(long sequence) {
        if (expected > 0) {
            lostGaps++;
        }
        expected = sequence;
        announce(blocks.forget());
    }

    private void take(long sequence, @Nullable EngineBatch batch) {
        expected = sequence + 1;
        batches++;
        lastTimeSeconds = batch == null ? Double.NaN : batch.timeSeconds();
        if (batch == null) {
            broken++;
            return;
        }
        unknown += batch.unknownEvents();
        announce(blocks.apply(batch.events()));
    }

    private void announce(List<BlockChange> changes) {
        if (!changes.isEmpty()) {
            listener.onBlockChanges(changes);
        }
    }

    /** @return null if it is broken: it has its number all the same, and nothing else is lost */
    private static @Nullable EngineBatch decode(byte[] payload) {
        try {
            return EngineEventDecoder.decode(payload);
        } catch (EngineEventException e) {
            return null;
        }
    }
}
