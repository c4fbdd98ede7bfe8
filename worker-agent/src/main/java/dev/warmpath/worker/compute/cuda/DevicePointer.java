package dev.warmpath.worker.compute.cuda;

/**
 * A stretch of device memory. The address means nothing to the processor: it is a number here, never a segment that
 * Java could touch.
 * @param address as the driver counts, {@code CUdeviceptr}
 * @param bytes   from the address on
 * @param owner   what the memory is for, as error messages name it
 */
record DevicePointer(long address, long bytes, String owner) {

    /** The stretch of {@code length} bytes that starts {@code offset} bytes into this one. */
    DevicePointer plus(long offset, long length) {
        if (offset < 0 || length < 0 || offset > bytes - length) {
            throw new IllegalArgumentException("bytes %d to %d are not in the %d of %s"
                    .formatted(offset, offset + length, bytes, owner));
        }
        return new DevicePointer(address + offset, length, owner);
    }

    /** What follows from {@code offset} bytes into this stretch on. */
    DevicePointer from(long offset) {
        return plus(offset, bytes - offset);
    }

    /** @throws IllegalArgumentException if this is shorter */
    void requireBytes(long needed) {
        if (needed > bytes) {
            throw new IllegalArgumentException("%d bytes are needed of %s, which has %d"
                    .formatted(needed, owner, bytes));
        }
    }
}
