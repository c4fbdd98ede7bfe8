package dev.warmpath.worker.compute.cuda;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * A function of a shared library that returns an int. What is called in every step has its shape here and passes
 * without boxes or allocation; everything else goes through {@link #invoke}.
 * @param name the symbol, for messages
 */
record NativeFunction(String name, MethodHandle handle) {

    /** A call of any shape, boxed, for what happens once; the boxes are of exactly the parameters' types. */
    int invoke(Object... arguments) {
        try {
            return (int) handle.invokeWithArguments(arguments);
        } catch (Throwable thrown) {
            throw notOfNative(thrown);
        }
    }

    int call(long a) {
        try {
            return (int) handle.invokeExact(a);
        } catch (Throwable thrown) {
            throw notOfNative(thrown);
        }
    }

    int call(long a, long b) {
        try {
            return (int) handle.invokeExact(a, b);
        } catch (Throwable thrown) {
            throw notOfNative(thrown);
        }
    }

    int call(long a, long b, int c) {
        try {
            return (int) handle.invokeExact(a, b, c);
        } catch (Throwable thrown) {
            throw notOfNative(thrown);
        }
    }

    int call(long a, long b, long c, long d) {
        try {
            return (int) handle.invokeExact(a, b, c, d);
        } catch (Throwable thrown) {
            throw notOfNative(thrown);
        }
    }

    int call(long a, byte b, long c, long d) {
        try {
            return (int) handle.invokeExact(a, b, c, d);
        } catch (Throwable thrown) {
            throw notOfNative(thrown);
        }
    }

    int call(long a, int b, int c, int d, int e, int f, int g, int h, long i, MemorySegment j, MemorySegment k) {
        try {
            return (int) handle.invokeExact(a, b, c, d, e, f, g, h, i, j, k);
        } catch (Throwable thrown) {
            throw notOfNative(thrown);
        }
    }

    /** What a handle throws never comes from the C side: it is a wrong type or a closed segment of ours. */
    static RuntimeException notOfNative(Throwable thrown) {
        return switch (thrown) {
            case RuntimeException ours -> ours;
            case Error error -> throw error;
            default -> new IllegalStateException(thrown);
        };
    }
}
