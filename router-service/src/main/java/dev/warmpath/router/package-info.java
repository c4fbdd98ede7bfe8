/**
 * The router: text in, token ids to the worker with the warmest cache, text back.
 * {@code completion} holds the spine; every other package is one step on its way or stands beside it.
 */
@NullMarked
package dev.warmpath.router;

import org.jspecify.annotations.NullMarked;
