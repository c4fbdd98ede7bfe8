/**
 * Looks at a running fleet and changes what operators may: {@code workers}, {@code top}, {@code explain},
 * {@code drain}, {@code undrain} and {@code reset-cache}. Everything is asked over HTTP, as curl would: of a router's
 * management port, its API for {@code explain}, and the workers' own management ports for {@code reset-cache}.
 * <p>Uses the fleet file of {@code fleet} to find a router, and {@code terminal}. Used by the command line alone.
 */
@NullMarked
package dev.warmpath.cli.look;

import org.jspecify.annotations.NullMarked;
