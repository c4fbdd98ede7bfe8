package dev.warmpath.worker.compute.cuda;

/** This machine or this build cannot compute on CUDA. The message is one sentence: what is missing, what to do. */
public final class CudaUnavailableException extends Exception {

    private static final long serialVersionUID = 1;

    CudaUnavailableException(String message) {
        super(message);
    }

    CudaUnavailableException(String message, Throwable cause) {
        super(message, cause);
    }
}
