/**
 * What commands write to: tables as wide as the terminal, bars, and a page that is drawn again and again.
 * <p>Uses nothing else of the command; used by {@code look} and {@code bench}.
 */
@NullMarked
package dev.warmpath.cli.terminal;

import org.jspecify.annotations.NullMarked;
