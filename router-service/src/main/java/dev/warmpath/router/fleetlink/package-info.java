/**
 * The links between this router and its workers, one {@code WorkerLink} for each: what it does to keep the index in
 * step is decided by {@code Follower}, pure rules; the two roads by which a worker's events come are the packages
 * {@code fleetlink.log} and {@code fleetlink.stream}, which know nothing of the link. Beside it, for each worker, a
 * probe ({@code ReachabilityProbe}), and for each revision the loading of its files ({@code ModelLoading}). Virtual
 * threads with straight-line blocking code, all of them started in {@code WorkerLinks}.
 * <p>Uses {@code fleet}, {@code health}, {@code prefix}, {@code tokenization}, {@code metrics} and {@code protocol}.
 * Told of new workers by {@code management}; {@code fleet} and {@code prefix} hold what it learns.
 */
@NullMarked
package dev.warmpath.router.fleetlink;

import org.jspecify.annotations.NullMarked;
