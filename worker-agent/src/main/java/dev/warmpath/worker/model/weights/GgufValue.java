package dev.warmpath.worker.model.weights;

/** A value of a GGUF file's metadata. */
sealed interface GgufValue {

    /** Where the value begins in the file, behind its type. */
    long offset();

    /** Of any width and sign. */
    record Whole(long offset, long value) implements GgufValue {
    }

    /** A float64, or a float32 as its shortest decimal has it: 1e-5f is 1e-5. */
    record Real(long offset, double value) implements GgufValue {
    }

    record Flag(long offset, boolean value) implements GgufValue {
    }

    record Text(long offset, String value) implements GgufValue {
    }

    /** Read where it lies when it is asked for. @param offset where the first element begins */
    record Array(long offset, GgufType elements, int count) implements GgufValue {
    }
}
