package dev.warmpath.worker.compute;

/**
 * The device or its context is gone: a kernel faulted, the driver reset it, or it fell off the bus. Nothing computed on
 * it can be had any more, and every further call fails: the process has to be started anew.
 */
public final class DeviceLostException extends RuntimeException {

    private static final long serialVersionUID = 1;

    public DeviceLostException(String message) {
        super(message);
    }
}
