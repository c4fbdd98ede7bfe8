package dev.warmpath.worker.foreign.generate;

import java.net.URI;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Where the engine is, and how long it is waited for.
 *
 * @param address         of its HTTP server, with nothing behind the port
 * @param apiKey          sent as bearer token; null = none
 * @param model           as the engine calls it; null = the only one that it serves
 * @param rank            of an engine with data parallelism, the rank that is asked and whose load counts, 0 and above;
 *                        null = the engine spreads, and all ranks count
 * @param mostGenerations alive at a time; as many connections
 * @param mostInFlight    of these, at the engine at a time; the others wait here
 * @param connectTimeout  until it has taken a connection
 * @param firstToken      longest silence before the first token, its own queue included
 * @param betweenTokens   and after it
 * @param pollInterval    from one look at its load to the next
 */
public record EngineLink(URI address, @Nullable String apiKey, @Nullable String model, @Nullable Integer rank,
        int mostGenerations, int mostInFlight, Duration connectTimeout, Duration firstToken, Duration betweenTokens,
        Duration pollInterval) {

    public EngineLink {
        if (!"http".equals(address.getScheme()) && !"https".equals(address.getScheme()) || address.getHost() == null) {
            throw new IllegalArgumentException("the engine's address '" + address + "' is no http:// or https:// one "
                    + "with the name of a host, of letters, digits and hyphens");
        }
        String path = address.getRawPath();
        if (path != null && !path.isEmpty() && !path.equals("/") || address.getRawQuery() != null
                || address.getRawUserInfo() != null) {
            throw new IllegalArgumentException("the engine's address '" + address.getScheme() + "://"
                    + address.getHost() + "…' has something beside host and port, which is not asked for");
        }
        if (rank != null && rank < 0) {
            throw new IllegalArgumentException("rank " + rank + " is negative");
        }
        if (mostGenerations < 1) {
            throw new IllegalArgumentException("most generations " + mostGenerations + " is below 1");
        }
        if (mostInFlight < 1 || mostInFlight > mostGenerations) {
            throw new IllegalArgumentException("most requests in flight " + mostInFlight + " are not 1 to "
                    + mostGenerations + ", the most that are alive");
        }
        requirePositive("connect timeout", connectTimeout);
        requirePositive("timeout of the first token", firstToken);
        requirePositive("timeout between tokens", betweenTokens);
        requirePositive("poll interval", pollInterval);
    }

    private static void requirePositive(String name, Duration value) {
        if (!value.isPositive()) {
            throw new IllegalArgumentException(name + " " + value + " is not above zero");
        }
    }

    /** With the times that suit an engine in the same pod. */
    public static EngineLink to(URI address) {
        return new EngineLink(address, null, null, null, 512, 512,
                Duration.ofSeconds(2), Duration.ofMinutes(10), Duration.ofMinutes(2), Duration.ofSeconds(1));
    }

    public EngineLink withModel(String model) {
        return new EngineLink(address, apiKey, model, rank, mostGenerations, mostInFlight,
                connectTimeout, firstToken, betweenTokens, pollInterval);
    }

    public EngineLink withRank(int rank) {
        return new EngineLink(address, apiKey, model, rank, mostGenerations, mostInFlight,
                connectTimeout, firstToken, betweenTokens, pollInterval);
    }

    public EngineLink withMostGenerations(int most) {
        return new EngineLink(address, apiKey, model, rank, most, Math.min(most, mostInFlight),
                connectTimeout, firstToken, betweenTokens, pollInterval);
    }

    public EngineLink withMostInFlight(int most) {
        return new EngineLink(address, apiKey, model, rank, mostGenerations, most,
                connectTimeout, firstToken, betweenTokens, pollInterval);
    }

    public EngineLink withSilence(Duration beforeFirstToken, Duration afterIt) {
        return new EngineLink(address, apiKey, model, rank, mostGenerations, mostInFlight,
                connectTimeout, beforeFirstToken, afterIt, pollInterval);
    }
}
