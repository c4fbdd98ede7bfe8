package dev.warmpath.router.keys;

import java.util.regex.Pattern;

/**
 * What the holder of a key may do.
 *
 * @param name              who holds it, a meter's label: 1 to 63 letters, digits, dots, hyphens and underscores.
 *                          Several keys may have the same, as while one takes the other's place
 * @param isOperator        may ask where requests would go, and is told where they went
 * @param requestsPerMinute at least 1, or {@link #NO_LIMIT}
 * @param tokensPerMinute   likewise
 */
record Grant(String name, boolean isOperator, int requestsPerMinute, int tokensPerMinute) {

    static final int NO_LIMIT = 0;
    static final int MOST_PER_MINUTE = 1_000_000_000;
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,62}");

    Grant {
        if (!NAME.matcher(name).matches()) {
            throw new IllegalArgumentException("a name is 1 to 63 letters, digits, '.', '-' and '_', and begins with a "
                    + "letter or a digit");
        }
        refuseOutOfRange(requestsPerMinute);
        refuseOutOfRange(tokensPerMinute);
    }

    private static void refuseOutOfRange(int perMinute) {
        if (perMinute < 0 || perMinute > MOST_PER_MINUTE) {
            throw new IllegalArgumentException("a limit is 1 to " + MOST_PER_MINUTE + " a minute");
        }
    }

    boolean hasLimitsOf(Grant other) {
        return requestsPerMinute == other.requestsPerMinute && tokensPerMinute == other.tokensPerMinute;
    }
}
