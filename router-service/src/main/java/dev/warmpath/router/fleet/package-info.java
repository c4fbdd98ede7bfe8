/**
 * Who serves what: the registry of workers with their leases and loads.
 * {@link dev.warmpath.router.fleet.Fleet} is the one owner of that state; its time and its network are passed in.
 * <p>Uses {@code prefix}, {@code models}, {@code health} and {@code protocol.fleet}. Written by {@code fleetlink} and
 * {@code management}; read by {@code routing}, {@code completion} and {@code dispatch}.
 */
@NullMarked
package dev.warmpath.router.fleet;

import org.jspecify.annotations.NullMarked;
