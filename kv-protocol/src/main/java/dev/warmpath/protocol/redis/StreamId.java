package dev.warmpath.protocol.redis;

import dev.warmpath.protocol.event.EventFormatException;
import java.util.Comparator;

/**
 * The place of an entry in a Redis stream. Redis hands them out in ascending order, by its own clock.
 *
 * @param millis unsigned
 * @param number unsigned; tells entries of one millisecond apart
 */
public record StreamId(long millis, long number) implements Comparable<StreamId> {

    /** Before every entry. */
    public static final StreamId ZERO = new StreamId(0, 0);

    private static final Comparator<StreamId> ORDER = Comparator
            .comparing(StreamId::millis, Long::compareUnsigned)
            .thenComparing(StreamId::number, Long::compareUnsigned);

    /** @throws EventFormatException if it does not look like {@code 1526919030474-55} */
    public static StreamId parse(String text) {
        int dash = text.indexOf('-');
        try {
            return new StreamId(Long.parseUnsignedLong(text, 0, Math.max(dash, 0), 10),
                    Long.parseUnsignedLong(text, dash + 1, text.length(), 10));
        } catch (NumberFormatException e) {
            throw new EventFormatException("'" + text + "' is no id of a stream entry");
        }
    }

    @Override
    public int compareTo(StreamId other) {
        return ORDER.compare(this, other);
    }

    /** As Redis writes it. */
    @Override
    public String toString() {
        return Long.toUnsignedString(millis) + "-" + Long.toUnsignedString(number);
    }
}
