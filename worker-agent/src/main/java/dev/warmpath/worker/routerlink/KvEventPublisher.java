package dev.warmpath.worker.routerlink;

import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.event.KeySet;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.Medium;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Numbers the worker's announcements, keeps the set that they add up to, and hands them to whoever reads along. The
 * engine publishes; readers come and go on other threads.
 *
 * <p>One lock, held while a batch is added and encoded or a snapshot is copied (a millisecond for a million keys); a
 * reader that cannot take a frame is dropped, so nobody ever waits for one. It comes back and gets a new snapshot.
 */
public final class KvEventPublisher {

    private final String workerId;
    private final long epoch;
    private final KeySet announced = new KeySet();
    /** Copied on change: a subscriber that cannot take a frame leaves while the others are served. */
    private final List<Subscriber> subscribers = new CopyOnWriteArrayList<>();
    private long sequence;

    public KvEventPublisher(String workerId, long epoch) {
        this.workerId = workerId;
        this.epoch = epoch;
    }

    /** Somebody who reads along. Called under the publisher's lock: must neither block nor call back. */
    public interface Subscriber {

        /**
         * @param frame one batch as of {@link EventFrames}; shared, not to be written
         * @return false if it cannot be taken: nothing more will come
         */
        boolean offer(byte[] frame);
    }

    /**
     * Where the announcements stand.
     *
     * @param lastSequence number of the last batch, 0 before the first
     * @param setSize      announced keys after it
     * @param setDigest    digest of them
     */
    public record State(long lastSequence, int setSize, long setDigest) {}

    public String workerId() {
        return workerId;
    }

    public long epoch() {
        return epoch;
    }

    /** Announces the changes of one engine step as one batch; nothing if there are none. Never blocks on a reader. */
    public synchronized void publish(List<BlockChange> changes) {
        if (changes.isEmpty()) {
            return;
        }
        changes.forEach(announced::apply);
        sequence++;
        if (!subscribers.isEmpty()) {
            byte[] frame = EventFrames.encode(batch(false, changes));
            for (Subscriber subscriber : subscribers) {
                if (!subscriber.offer(frame)) {
                    subscribers.remove(subscriber);
                }
            }
        }
    }

    /** Offers a snapshot and from then on every batch after it, without a hole between. */
    public synchronized void subscribe(Subscriber subscriber) {
        if (subscriber.offer(snapshotFrame())) {
            subscribers.add(subscriber);
        }
    }

    /** Offers one more snapshot to a subscriber, in its place among the batches; nothing if it was dropped. */
    public synchronized void snapshot(Subscriber subscriber) {
        if (subscribers.contains(subscriber) && !subscriber.offer(snapshotFrame())) {
            subscribers.remove(subscriber);
        }
    }

    public synchronized void unsubscribe(Subscriber subscriber) {
        subscribers.remove(subscriber);
    }

    public synchronized State state() {
        return new State(sequence, announced.size(), announced.digest());
    }

    /** Whether a key is announced now. */
    public synchronized boolean holds(long key) {
        return announced.contains(key);
    }

    synchronized int subscriberCount() {
        return subscribers.size();
    }

    private byte[] snapshotFrame() {
        long[] keys = announced.toArray();
        List<BlockChange> all =
                keys.length == 0 ? List.of() : List.of(new BlockChange.Stored(Medium.DEVICE, keys));
        return EventFrames.encode(batch(true, all));
    }

    private KvEventBatch batch(boolean snapshot, List<BlockChange> changes) {
        return new KvEventBatch(workerId, epoch, sequence, snapshot, changes, announced.size(), announced.digest());
    }
}
