/**
 * The wires between this router and its workers: registrations and heartbeats come in on the management port
 * ({@code FleetRoutes}), model files are fetched from the worker ({@code ModelLoading}), and its events are followed
 * ({@code WorkerLink}) directly or by the log in Redis, which {@code LogReader} reads for all of them. Virtual
 * threads with straight-line blocking code.
 * <p>{@code IndexCommand} looks into Redis with no router running.
 * <p>Uses {@code fleet}, {@code prefix}, {@code tokenization}, {@code metrics}, {@code redislink} and {@code protocol}.
 * Used by nobody: {@code fleet} and {@code prefix} hold what it learns.
 */
@NullMarked
package dev.warmpath.router.fleetlink;

import org.jspecify.annotations.NullMarked;
