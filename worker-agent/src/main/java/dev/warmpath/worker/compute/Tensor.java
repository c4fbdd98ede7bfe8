package dev.warmpath.worker.compute;

/**
 * Handle of a row-major matrix that a backend owns. Its memory lives until the backend is closed; its content changes
 * in the order in which operations were enqueued. Only the backend that made it may be given it.
 */
public interface Tensor {

    DataType type();

    int rows();

    int columns();
}
