package dev.warmpath.worker.kvcache;

/** Where a block goes in the free queue when its last holder lets go of it. */
public enum FreeOrder {

    /** With a key to the tail, without one to the head, where it is reused next (vLLM's rule since June 2026). */
    UNKEYED_FIRST,

    /** To the tail, key or not, the last block of the table first (vLLM's rule before). */
    RELEASE_ORDER
}
