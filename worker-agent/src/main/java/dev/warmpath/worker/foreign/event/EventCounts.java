package dev.warmpath.worker.foreign.event;

/**
 * What a subscription has seen since it began; all counts only grow but {@code announced}.
 *
 * @param batches      taken over, in sequence, those that were replayed among them
 * @param replayed     batches taken over from the replay socket
 * @param broken       messages that were no batch
 * @param unknown      events of a kind that is not known
 * @param gaps         times that batches were missing
 * @param lostGaps     gaps that the replay socket could not fill, after which everything was forgotten
 * @param restarts     times that the engine began anew
 * @param stored       blocks that were announced
 * @param unproved     blocks stored that were not announced, as their hash cannot be computed: their parent is not
 *                     known (a chain met in its middle), or something of what they were computed from is not
 * @param passedOver   blocks stored or removed that are none of ours to announce: of another medium, group or size
 * @param strayRemoved blocks removed that were never announced
 * @param overflows    times that the engine told of more blocks than it can hold, after which all was forgotten
 * @param equalHashes  blocks announced whose hash is the engine's own
 * @param announced    blocks announced now
 */
public record EventCounts(long batches, long replayed, long broken, long unknown, long gaps, long lostGaps,
        long restarts, long stored, long unproved, long passedOver, long strayRemoved, long overflows,
        long equalHashes, int announced) {

    public static final EventCounts NONE = new EventCounts(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}
