package dev.warmpath.cli.start;

import java.net.URI;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What {@code up} was asked for. Sizes are as they were written, and empty where nobody has asked for one: what the
 * machine has room for, a worker's program finds out.
 *
 * @param workers      of those that compute; null: as many as there is room for
 * @param engines      running engines, a worker beside each
 * @param routers      1 to 9
 * @param redis        a URI, {@code embedded}, or empty for none
 * @param port         of the first router's API
 * @param model        a folder or file; empty for the one that ships
 * @param stallTimeout how long nothing may move in a start
 */
public record Wishes(@Nullable Integer workers, List<Engine> engines, int routers, String redis, int port, String model,
        String host, String backend, String context, String quantization, String memory, String kvMemory, String heap,
        List<Setting> settings, Duration stallTimeout, boolean isDetached) {

    public static final int MAX_WORKERS = 64;
    /** So that the last one stays below Redis. */
    public static final int MAX_ROUTERS = 9;
    public static final String EMBEDDED = "embedded";
    /** Where two have room. */
    private static final int USUAL_WORKERS = 2;

    /** @throws IllegalArgumentException in a sentence, if they do not go together */
    public Wishes {
        engines = List.copyOf(engines);
        settings = List.copyOf(settings);
        if (!engines.isEmpty()) {
            require(!model.isEmpty(), "--engine needs --model: the folder from which the engine was started, for its "
                    + "tokenizer");
            require(workers != null && workers > 0 || (memory + kvMemory + heap + quantization).isEmpty(),
                    "--memory, --kv-memory, --heap and --quantization are of workers that compute; with --engine there "
                            + "are none but with --workers");
            workers = workers == null ? 0 : workers;
        }
        int most = (workers == null ? USUAL_WORKERS : workers) + engines.size();
        require(most <= MAX_WORKERS, "a fleet has at most " + MAX_WORKERS + " workers, engines included");
        int lastPort = Ports.MOST - Ports.ROUTER_OFFSET * (routers - 1) - most;
        require(port >= 1 && port <= lastPort, "--port takes a number from 1 to " + lastPort + ", not '" + port + "'");
        require(redis.isEmpty() || redis.equals(EMBEDDED) || isRedis(redis),
                "--redis takes 'embedded' or a URI like redis://host:6379");
        require(isHost(host), "--host takes a name or an address, not '" + host + "'");
        requireSize("--memory", memory);
        requireSize("--kv-memory", kvMemory);
        requireSize("--heap", heap);
    }

    /** Whether it may be a URI of Redis. */
    public static boolean isRedis(String uri) {
        return uri.matches("redis[a-z-]*://.+");
    }

    /** At most, engines included. */
    int mostWorkers() {
        return (workers == null ? USUAL_WORKERS : workers) + engines.size();
    }

    boolean isOnLoopback() {
        return host.startsWith("127.") || host.equals("localhost") || host.equals("::1");
    }

    /** A name with an underscore is none in a URL. */
    private static boolean isHost(String host) {
        try {
            return host.matches("[A-Za-z0-9.:_-]+")
                    && URI.create("http://" + (host.contains(":") ? "[" + host + "]" : host)).getHost() != null;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }

    private static void requireSize(String option, String size) {
        require(size.isEmpty() || size.matches("[1-9][0-9]{0,5}(MB|GB)"),
                option + " takes a size such as 512MB or 4GB, not '" + size + "'");
    }

    private static void require(boolean isSo, String sentence) {
        if (!isSo) {
            throw new IllegalArgumentException(sentence);
        }
    }
}
