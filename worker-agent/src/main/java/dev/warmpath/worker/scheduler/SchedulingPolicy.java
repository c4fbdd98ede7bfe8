package dev.warmpath.worker.scheduler;

/** Who is served before whom. */
public enum SchedulingPolicy {
    /** In order of arrival; the one admitted last gives way. */
    FCFS,
    /** By the request's priority, the lowest number first, then in order of arrival; the last in this order gives way. */
    PRIORITY
}
