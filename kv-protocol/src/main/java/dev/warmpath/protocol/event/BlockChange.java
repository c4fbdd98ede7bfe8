package dev.warmpath.protocol.event;

import java.util.Arrays;

/** One change of the set of block keys that a worker announces. The key arrays are never written after construction. */
public sealed interface BlockChange {

    /** Keys that it names. */
    default int keyCount() {
        return switch (this) {
            case Stored(var _, var keys) -> keys.length;
            case Removed(var _, var keys) -> keys.length;
            case Cleared() -> 0;
        };
    }

    /** The keys became reachable, in chain order: parents first. A snapshot's keys have no order. */
    record Stored(Medium medium, long[] keys) implements BlockChange {
        @Override
        public boolean equals(Object other) {
            return other instanceof Stored(var m, var k) && m == medium && Arrays.equals(k, keys);
        }

        @Override
        public int hashCode() {
            return Arrays.hashCode(keys) * 31 + medium.hashCode();
        }

        @Override
        public String toString() {
            return "Stored[" + medium + ", " + Arrays.toString(keys) + "]";
        }
    }

    /** The keys are gone, leaf up: a child stands before its parent. */
    record Removed(Medium medium, long[] keys) implements BlockChange {
        @Override
        public boolean equals(Object other) {
            return other instanceof Removed(var m, var k) && m == medium && Arrays.equals(k, keys);
        }

        @Override
        public int hashCode() {
            return Arrays.hashCode(keys) * 31 + medium.hashCode();
        }

        @Override
        public String toString() {
            return "Removed[" + medium + ", " + Arrays.toString(keys) + "]";
        }
    }

    /** Every key is gone. */
    record Cleared() implements BlockChange {}
}
