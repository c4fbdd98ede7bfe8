package dev.warmpath.worker.compute;

/**
 * A step could not be computed: the device refused a launch, memory ran out, or the numbers stopped being numbers.
 * What the step wrote (cache slots included) is undefined afterwards; what earlier steps wrote is untouched.
 */
public final class ComputeException extends RuntimeException {

    private static final long serialVersionUID = 1;

    public ComputeException(String message) {
        super(message);
    }

    public ComputeException(String message, Throwable cause) {
        super(message, cause);
    }
}
