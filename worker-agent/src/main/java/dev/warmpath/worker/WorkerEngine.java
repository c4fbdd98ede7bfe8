package dev.warmpath.worker;

import dev.warmpath.worker.routerlink.WorkerLoad;

/** What generates the answers of this worker, as its start, its stop and its heartbeats see it. */
interface WorkerEngine extends AutoCloseable {

    /** Whatever has to be done before the first request. Blocking. */
    void prepare() throws InterruptedException;

    /** How busy it is; at once. */
    WorkerLoad load();

    /** What is alive is to come to its end: nobody may hold the engine up from here on. */
    void endHolds();

    /** Ends aloud what is alive. Harmless twice. */
    @Override
    void close();
}
