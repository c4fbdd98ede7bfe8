package dev.warmpath.benchmarks.prefix;

/** Where the keys come from that no chain asks for. */
public enum Distribution {
    /** No key has two holders. */
    DISTINCT,
    /** Half of the pairs are of 10,000 prefixes of 100 blocks, drawn by each worker with odds of 1 / rank. */
    ZIPF
}
