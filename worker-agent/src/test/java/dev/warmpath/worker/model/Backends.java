package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.cpu.ScalarBackend;
import dev.warmpath.worker.compute.cpu.VectorBackend;

/** The bodies that the model is tested on. */
enum Backends {
    SCALAR, VECTOR, VECTOR_ON_TWO_THREADS;

    ComputeBackend create() {
        return switch (this) {
            case SCALAR -> new ScalarBackend();
            case VECTOR -> new VectorBackend(1);
            case VECTOR_ON_TWO_THREADS -> new VectorBackend(2);
        };
    }
}
