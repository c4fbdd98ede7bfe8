package dev.warmpath.worker.compute.cuda;

/** This machine or this build cannot compute on CUDA. The message is one sentence: what is missing, what to do. */
public final class CudaUnavailableException extends Exception {

    private static final long serialVersionUID = 1;

    private final boolean forWantOfDevice;

    CudaUnavailableException(String message) {
        this(message, false);
    }

    private CudaUnavailableException(String message, boolean forWantOfDevice) {
        super(message);
        this.forWantOfDevice = forWantOfDevice;
    }

    CudaUnavailableException(String message, Throwable cause) {
        super(message, cause);
        forWantOfDevice = false;
    }

    /** There is nothing that could be put right: no driver is installed, or it finds no device. */
    static CudaUnavailableException forWantOfDevice(String message) {
        return new CudaUnavailableException(message, true);
    }

    /** Whether this is a machine like any other; false if it has, or should have, a device that cannot be used. */
    public boolean isForWantOfDevice() {
        return forWantOfDevice;
    }
}
