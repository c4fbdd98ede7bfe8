/**
 * The wires between this router and its workers: registrations and heartbeats come in on the management port
 * ({@code FleetRoutes}), model files and event streams are fetched from the worker ({@code ModelLoading},
 * {@code EventFollower}; one virtual thread each, straight-line blocking code).
 * <p>Uses {@code fleet}, {@code prefix}, {@code tokenization} and {@code protocol}. Used by nobody: {@code fleet} and
 * {@code prefix} hold what it learns.
 */
@NullMarked
package dev.warmpath.router.fleetlink;

import org.jspecify.annotations.NullMarked;
