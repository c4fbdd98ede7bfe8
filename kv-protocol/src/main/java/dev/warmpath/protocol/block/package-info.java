/**
 * The block hash contract (D2): how a run of tokens becomes a chain of hashes that names its KV-cache blocks.
 * Router and workers compute the same chain from the same token ids; a prefix is found by comparing its names.
 * <p>Uses nothing. Used by the router's {@code completion} and {@code prefix}, and by the worker's {@code kvcache}
 * and {@code foreign.event}.
 */
@NullMarked
package dev.warmpath.protocol.block;

import org.jspecify.annotations.NullMarked;
