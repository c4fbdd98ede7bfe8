/**
 * Looks at what a fleet on this machine needs, and at the running one: a sentence for each thing, and what to do.
 * <p>Uses {@code fleet}, {@code build} and {@code start}; used by the command of the same name.
 */
@NullMarked
package dev.warmpath.cli.doctor;

import org.jspecify.annotations.NullMarked;
