package dev.warmpath.router.dispatch;

import org.jspecify.annotations.Nullable;

/** Carries a {@link DispatchFailure} through a stream. */
public final class DispatchException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final transient DispatchFailure failure;

    public DispatchException(DispatchFailure failure) {
        this(failure, null);
    }

    public DispatchException(DispatchFailure failure, @Nullable Throwable cause) {
        super(failure.toString(), cause, false, false);
        this.failure = failure;
    }

    public DispatchFailure failure() {
        return failure;
    }
}
