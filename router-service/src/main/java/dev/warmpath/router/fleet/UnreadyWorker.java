package dev.warmpath.router.fleet;

import dev.warmpath.router.fleet.WorkerView.State;

/**
 * A worker that takes no requests.
 *
 * @param state why not
 */
public record UnreadyWorker(String id, State state) {}
