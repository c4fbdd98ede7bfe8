package dev.warmpath.worker.foreign.event;

import java.time.Duration;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Where an engine publishes its events. Each data-parallel replica has sockets of its own: vLLM's and SGLang's are at
 * the configured ports plus the replica's rank.
 *
 * @param endpoint       of its PUB socket, as {@code tcp://host:port}
 * @param replayEndpoint of its ROUTER socket for batches that were missed, or null if it has none
 * @param topic          what its messages begin with; empty for any, which is right where nobody else publishes there
 * @param replayPatience how long an answer of the replay socket may take to go on; vLLM looks for questions between
 *                       batches only, every 0.1 s when idle
 */
public record EventSource(String endpoint, @Nullable String replayEndpoint, String topic, Duration replayPatience) {

    public static final Duration DEFAULT_REPLAY_PATIENCE = Duration.ofSeconds(5);

    /** A port as it is named, to which a socket can connect: not the {@code *} at which an engine binds. */
    private static final Pattern ENDPOINT = Pattern.compile("tcp://[^*/]+:[1-9][0-9]{0,4}");

    /** @throws IllegalArgumentException naming what cannot be connected to */
    public EventSource {
        requireEndpoint(endpoint);
        if (replayEndpoint != null) {
            requireEndpoint(replayEndpoint);
        }
        if (replayPatience.toMillis() < 1) {
            throw new IllegalArgumentException("replay patience " + replayPatience + " is below 1 ms");
        }
    }

    private static void requireEndpoint(String endpoint) {
        if (!ENDPOINT.matcher(endpoint).matches()) {
            throw new IllegalArgumentException("'" + endpoint + "' is no endpoint, tcp://host:port is wanted");
        }
    }
}
