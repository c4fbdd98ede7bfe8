package dev.warmpath.worker.model.weights;

import org.jspecify.annotations.Nullable;

/** Types of a GGUF file's metadata, in the order of their numbers there. */
enum GgufType {
    UINT8(1), INT8(1), UINT16(2), INT16(2), UINT32(4), INT32(4), FLOAT32(4), BOOL(1), STRING(8), ARRAY(12), UINT64(8),
    INT64(8), FLOAT64(8);

    private static final GgufType[] BY_NUMBER = values();

    /** Bytes of a value; of those that vary, the least. */
    final int leastBytes;

    GgufType(int leastBytes) {
        this.leastBytes = leastBytes;
    }

    /** @return null if there is none */
    static @Nullable GgufType of(int number) {
        return number >= 0 && number < BY_NUMBER.length ? BY_NUMBER[number] : null;
    }
}
