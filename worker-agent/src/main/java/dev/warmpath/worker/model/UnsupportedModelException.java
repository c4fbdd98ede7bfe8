package dev.warmpath.worker.model;

/** A model directory that says something this worker does not understand; serving it would give wrong text. */
public final class UnsupportedModelException extends RuntimeException {

    private static final long serialVersionUID = 1;

    public UnsupportedModelException(String message) {
        super(message);
    }
}
