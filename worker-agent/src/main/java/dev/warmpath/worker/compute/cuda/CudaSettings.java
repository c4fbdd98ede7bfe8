package dev.warmpath.worker.compute.cuda;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Which device to use and where its libraries are.
 * @param device          index of the device as the driver counts them, from 0
 * @param driverLibrary   the driver's library ({@code libcuda.so.1}) or the folder it is in; null: looked for
 * @param cublasLtLibrary the library of matrix products ({@code libcublasLt.so.13}) or its folder; null: looked for
 */
public record CudaSettings(int device, @Nullable Path driverLibrary, @Nullable Path cublasLtLibrary) {

    public CudaSettings {
        if (device < 0) {
            throw new IllegalArgumentException("devices are counted from 0, not " + device);
        }
    }
}
