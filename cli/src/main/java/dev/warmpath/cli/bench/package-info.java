/**
 * {@code warmpath bench}: load as many clients make it, over HTTP, against a router or any server of OpenAI's API, and
 * what came of it in numbers. {@link dev.warmpath.cli.bench.LoadRun} is the spine: who sends what, when.
 * <p>Uses {@code workload} for the loads and {@code terminal}; used by the command line alone.
 */
@NullMarked
package dev.warmpath.cli.bench;

import org.jspecify.annotations.NullMarked;
