package dev.warmpath.worker.compute.cuda;

import org.jspecify.annotations.Nullable;

/** A kernel's parameters, filled in order before each launch: one native block, written over and over. */
final class Arguments {

    /** Null is the null pointer. */
    Arguments pointer(@Nullable DevicePointer value) {
        throw new UnsupportedOperationException();
    }

    /** A parameter of 4 bytes. */
    Arguments integer(int value) {
        throw new UnsupportedOperationException();
    }

    /** A parameter of 8 bytes. */
    Arguments wide(long value) {
        throw new UnsupportedOperationException();
    }

    Arguments real(float value) {
        throw new UnsupportedOperationException();
    }
}
