package dev.warmpath.router.routing;

import java.util.Locale;

/** The policies that there are, by the names that settings, decisions and meters know them by; docs/policies.md. */
public enum PolicyName {
    EXPECTED_FIRST_TOKEN,
    ROUND_ROBIN,
    RANDOM,
    LEAST_REQUESTS,
    POWER_OF_TWO,
    PREFIX_HASH,
    STICKY_SESSION,
    SGLANG_CACHE_AWARE,
    SMG_CACHE_AWARE,
    LLM_D_PREFIX_SCORER,
    LLM_D_PREFIX_FILTER,
    DYNAMO_COST,
    LMETRIC;

    private final String text = name().toLowerCase(Locale.ROOT).replace('_', '-');

    public String text() {
        return text;
    }
}
