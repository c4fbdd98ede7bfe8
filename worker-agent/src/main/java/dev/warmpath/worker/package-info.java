/**
 * The worker agent: token ids in, token ids out, over a paged KV cache of its own.
 * {@code engine} holds the spine; every other package is one step on its way or stands beside it.
 */
@NullMarked
package dev.warmpath.worker;

import org.jspecify.annotations.NullMarked;
