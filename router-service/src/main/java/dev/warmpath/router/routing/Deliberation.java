package dev.warmpath.router.routing;

import dev.warmpath.router.health.HealthState;
import org.jspecify.annotations.Nullable;

/**
 * One decision between the workers of a crew: what was read of the books, and the arrays that it takes, which serve one
 * decision after another. One thread at a time.
 */
final class Deliberation {

    /** Promises that the index is asked about in passing: each decision brings one, and most are known when they end. */
    private static final int MOST_DOUBTFUL = 4;

    final Crew crew;
    final Candidates candidates;
    /** What the prompt shares with requests of this router. */
    final SharedPrefixes shared = new SharedPrefixes();
    /** Promises that the index is to be asked about, and those of them that it has kept. */
    final @Nullable Booking[] doubtful = new Booking[MOST_DOUBTFUL];
    int doubtfulCount;
    int knownCount;
    /** When the books were read, and how many had been booked then. */
    long nowNanos;
    long bookings;
    /** By chance. */
    long draw;

    Deliberation(Crew crew) {
        this.crew = crew;
        this.candidates = new Candidates(crew.workers());
    }

    /**
     * Whether the choice might be another one for what has been booked since the books were read: at that worker, or
     * with more of the prompt than its worker had.
     */
    boolean isOutdated(Books books, TokenizedPrompt prompt, int chosen) {
        for (long number = bookings; number < books.bookings(); number++) {
            Booking other = books.booking(number);
            int place = other == null ? chosen : crew.placeOf(other);
            if (place == chosen || other != null && place >= 0
                    && other.commonBlocks(prompt.chain(), prompt.reusableBlocks()) > candidates.matchedBlocks(place)) {
                return true;
            }
        }
        return false;
    }

    /** Whether some workers are healthy and some are not. */
    boolean isMixed() {
        int healthy = 0;
        for (int i = 0; i < candidates.size(); i++) {
            healthy += candidates.get(i).health() == HealthState.HEALTHY ? 1 : 0;
        }
        return healthy > 0 && healthy < candidates.size();
    }
}
