package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.CacheType;

/**
 * The kernels of one element type and head size, and the dynamic shared memory of those that want some, in bytes.
 * @param attention of layers without window and cap
 * @param shaped    of the others
 */
record CacheKernels(Kernel rotateStore, Attention attention, Attention shaped, int decodeSharedBytes, Kernel reduce,
                    int prefillSharedBytes) {

    record Attention(Kernel decode, Kernel prefill) {
    }

    static CacheKernels of(CudaDevice device, CacheType type, int headSize) {
        String element = switch (type) {
            case BF16 -> "bf16";
            case FP8_E4M3 -> "fp8";
            case F32 -> throw new IllegalArgumentException("the CUDA kernels keep no keys and values of float32");
        };
        return new CacheKernels(
                device.kernel("wp_rotate_store_" + element),
                attention(device, "%s_d%d".formatted(element, headSize)),
                attention(device, "%s_d%d_shaped".formatted(element, headSize)),
                decodeSharedBytes(type, headSize),
                device.kernel("wp_reduce_partials_d" + headSize),
                prefillSharedBytes(type, headSize));
    }

    private static Attention attention(CudaDevice device, String variant) {
        return new Attention(device.kernel("wp_decode_attention_" + variant),
                device.kernel("wp_prefill_attention_" + variant));
    }

    /** A ring of stages for each warp; a stage is the keys and values of one block of one head, of two if small. */
    private static int decodeSharedBytes(CacheType type, int headSize) {
        int blockBytes = 2 * KernelSizes.BLOCK_TOKENS * headSize * type.bytes();
        int stageBytes = blockBytes < 8192 ? 2 * blockBytes : blockBytes;
        int stages = stageBytes >= 8192 ? 3 : stageBytes >= 4096 ? 4 : 6;
        return KernelSizes.DECODE_WARPS * stages * stageBytes;
    }

    /** Bfloat16 of 128 queries and twice 64 keys and values; those of fp8 are gathered into half of that once. */
    private static int prefillSharedBytes(CacheType type, int headSize) {
        return (type == CacheType.BF16 ? 768 : 640) * headSize;
    }
}
