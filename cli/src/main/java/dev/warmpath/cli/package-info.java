/** The {@code warmpath} command: what runs a fleet on one machine, and looks at one from a terminal. */
@NullMarked
package dev.warmpath.cli;

import org.jspecify.annotations.NullMarked;
