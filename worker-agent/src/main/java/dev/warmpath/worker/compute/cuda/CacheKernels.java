package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.DataType;

/**
 * The kernels of one element type and head size, and the dynamic shared memory of those that want some, in bytes.
 * @param attention of layers without window and cap; the shaped ones where there are no others
 * @param shaped    of all layers
 */
record CacheKernels(Kernel rotateStore, Attention attention, Attention shaped, int decodeSharedBytes, Kernel reduce,
                    int prefillSharedBytes) {

    /** @param takesShape whether they are told of window and cap */
    record Attention(Kernel decode, Kernel prefill, boolean takesShape) {
    }

    static CacheKernels of(CudaDevice device, CacheType type, int headSize) {
        String element = switch (type) {
            case BF16 -> "bf16";
            case FP8_E4M3 -> "fp8";
            case F32 -> throw new IllegalArgumentException("the CUDA kernels keep no keys and values of float32");
        };
        String variant = "%s_d%d".formatted(element, headSize);
        Attention shaped = attention(device, variant + "_shaped", true);
        return new CacheKernels(
                device.kernel("wp_rotate_store_" + element),
                KernelSizes.isCommon(headSize) ? attention(device, variant, false) : shaped, shaped,
                decodeSharedBytes(type, headSize),
                device.kernel("wp_reduce_partials_d" + headSize),
                prefillSharedBytes(type, headSize));
    }

    private static Attention attention(CudaDevice device, String variant, boolean takesShape) {
        return new Attention(device.kernel("wp_decode_attention_" + variant),
                device.kernel("wp_prefill_attention_" + variant), takesShape);
    }

    /**
     * A ring of stages for each warp; a stage is the keys and values of one block of one head, of two if small, and
     * their scales.
     */
    private static int decodeSharedBytes(CacheType type, int headSize) {
        int blockBytes = 2 * KernelSizes.BLOCK_TOKENS * rowElements(headSize) * type.bytes();
        int stageBytes = blockBytes < 8192 ? 2 * blockBytes : blockBytes;
        int stages = stageBytes >= 16384 ? 2 : stageBytes >= 8192 ? 3 : stageBytes >= 4096 ? 4 : 6;
        int scaleBytes = stageBytes / blockBytes * 2 * KernelSizes.BLOCK_TOKENS * type.scaleBytes();
        return KernelSizes.DECODE_WARPS * stages * (stageBytes + scaleBytes);
    }

    /**
     * Bfloat16 of 128 queries, 64 of the largest heads, and twice 64 keys and values; those of fp8 are gathered into
     * half of that once, and there are scales twice.
     */
    private static int prefillSharedBytes(CacheType type, int headSize) {
        int queries = headSize > 128 ? 64 : 128;
        int keysAndValues = type == CacheType.BF16 ? 4 * 64 : 3 * 64;
        int scales = 2 * 2 * 64;
        return DataType.BF16.bytes() * (queries + keysAndValues) * rowElements(headSize) + scales * type.scaleBytes();
    }

    /** Rows of 96 elements lie as far apart in shared memory as those of 128. */
    private static int rowElements(int headSize) {
        return headSize == 96 ? 128 : headSize;
    }
}
