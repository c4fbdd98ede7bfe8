package dev.warmpath.router.routing;

import java.util.function.IntPredicate;

/** Finds where an unbroken run of a chain ends. */
final class LeadingBlocks {

    private LeadingBlocks() {}

    /**
     * By halving; one question where nothing is held, as of most prompts.
     *
     * @param holds whether the block of that index is held; true for all below the run's end, false from there on
     */
    static int count(int limit, IntPredicate holds) {
        if (limit == 0 || !holds.test(0)) {
            return 0;
        }
        int held = 1;
        int missing = limit + 1;
        while (missing - held > 1) {
            int middle = (held + missing) >>> 1;
            if (holds.test(middle - 1)) {
                held = middle;
            } else {
                missing = middle;
            }
        }
        return held;
    }
}
