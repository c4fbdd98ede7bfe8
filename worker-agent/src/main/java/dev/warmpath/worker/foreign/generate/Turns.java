package dev.warmpath.worker.foreign.generate;

import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Who is at the engine, and who waits here in order of arrival: some servers compute one request at a time, and drop it
 * when another comes. The event loop's own. No more wait than there are generations alive.
 */
final class Turns {

    private final int most;
    private final Set<ForeignGeneration> there = new HashSet<>();
    private final LinkedHashSet<ForeignGeneration> waiting = new LinkedHashSet<>();
    private boolean closed;

    /** @param most at the engine at a time */
    Turns(int most) {
        this.most = most;
    }

    /** @return whether it may go at once; otherwise it is told when */
    boolean take(ForeignGeneration one) {
        if (!closed && there.size() < most) {
            return there.add(one);
        }
        waiting.add(one);
        return false;
    }

    /** It is over, wherever it was. @return who has its turn now */
    @Nullable ForeignGeneration leave(ForeignGeneration one) {
        boolean wasThere = there.remove(one);
        if (!wasThere) {
            waiting.remove(one);
        }
        if (!wasThere || closed || waiting.isEmpty()) {
            return null;
        }
        ForeignGeneration next = waiting.removeFirst();
        there.add(next);
        return next;
    }

    /** Nobody has a turn any more but those that are there. */
    void close() {
        closed = true;
    }
}
