package dev.warmpath.protocol.fleet;

/** Numbers and paths that both ends of the fleet's inner protocol must agree on. */
public final class Protocol {

    /**
     * Compared at registration; a difference is refused with both values. It changes with what an older reader would
     * get wrong. A field that an older reader may ignore, and an absent one that reads as false, 0 or null, needs no
     * new version: readers pass over fields that they do not know.
     */
    public static final int VERSION = 3;

    /** On the router's management port. */
    public static final String REGISTRATIONS_PATH = "/internal/v1/registrations";
    public static final String HEARTBEATS_PATH = "/internal/v1/heartbeats";
    public static final String FAREWELLS_PATH = "/internal/v1/farewells";

    /** On the worker's port. Below it, {@code DELETE} of a generation's handle ends that generation. */
    public static final String GENERATE_PATH = "/v1/generate";
    public static final String EVENTS_PATH = "/internal/v1/events";
    public static final String FILES_PATH = "/internal/v1/files/";
    /**
     * A stream of {@link dev.warmpath.protocol.pool.PoolFrame}; below it one block and one request, and the engine is
     * held and stepped by hand. A worker that keeps no pool of its own answers 404 to all of these.
     */
    public static final String POOL_PATH = "/internal/v1/pool";
    /** {@code GET} below it, by number: {@link dev.warmpath.protocol.pool.BlockDetail}. */
    public static final String POOL_BLOCKS_PATH = POOL_PATH + "/blocks/";
    /** {@code GET} below it, by the request's id: {@link dev.warmpath.protocol.pool.RequestTables}. */
    public static final String POOL_REQUESTS_PATH = POOL_PATH + "/requests/";
    /** {@code PUT} holds the engine between two steps for a minute, {@code DELETE} lets it go on. */
    public static final String POOL_HOLD_PATH = POOL_PATH + "/hold";
    /** {@code POST}: one step of an engine that is held, {@link dev.warmpath.protocol.pool.Stepped}. */
    public static final String POOL_STEP_PATH = POOL_PATH + "/step";
    /** {@code POST}: forgets the cached prefixes that no sequence holds. */
    public static final String POOL_RESET_PATH = POOL_PATH + "/reset";

    /** The first request on a connection to a worker: {@link Handshake}. */
    public static final String HANDSHAKE_PATH = "/internal/v1/handshake";

    /** Query parameter of {@link #EVENTS_PATH} and {@link #POOL_PATH}: the epoch that the reader expects, decimal. */
    public static final String EPOCH_PARAMETER = "epoch";

    /** Query parameter of a {@code DELETE} below {@link #GENERATE_PATH}: the one choice to end, from 0; absent, all. */
    public static final String CHOICE_PARAMETER = "choice";

    /** A model file larger than this is not served to routers: tokenizers are a few MiB. */
    public static final int MAX_FILE_BYTES = 64 << 20;

    private Protocol() {}
}
