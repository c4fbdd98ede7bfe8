package dev.warmpath.worker.kvcache;

/**
 * Where a released block joins the free queue, and with that how soon it loses its content. Blocks are released in
 * reversed table order. A cache without prefix caching keeps nothing worth waiting for: it puts every block first,
 * whatever the order.
 */
public enum FreeOrder {

    /**
     * Blocks with a key to the tail, so that the least recently released is evicted first and a prefix from its leaf
     * up; blocks without one to the head, to be used again at once (vLLM since June 2026).
     */
    UNKEYED_FIRST,

    /** Every block to the tail, in the order of the release (vLLM before). */
    RELEASE_ORDER
}
