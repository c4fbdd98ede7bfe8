package dev.warmpath.benchmarks.gpu;

/**
 * What this card reaches, measured in the same run: the ceilings that everything else is held against.
 * @param copyBytesPerSecond  of a large copy on the device, bytes read plus bytes written
 * @param matmulFlopsPerSecond of a large bf16 matrix product of random numbers
 */
record Yardsticks(double copyBytesPerSecond, double matmulFlopsPerSecond) {

    /** Time to move so many bytes through device memory at the copy's rate. */
    double readNanos(double bytes) {
        return bytes * 1e9 / copyBytesPerSecond;
    }

    double arithmeticNanos(double flops) {
        return flops * 1e9 / matmulFlopsPerSecond;
    }
}
