package dev.warmpath.worker.compute.cuda;

import java.nio.file.Path;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Which device to use and where its libraries are.
 * @param device          index of the device as the driver counts them, from 0, or the UUID under which
 *                        {@code nvidia-smi -L} lists it, {@code GPU-…} or {@code MIG-…}, or as much of its beginning as
 *                        no other's begins with
 * @param driverLibrary   the driver's library ({@code libcuda.so.1}) or the folder it is in; null: looked for
 * @param cublasLtLibrary the library of matrix products ({@code libcublasLt.so.13}) or its folder; null: looked for
 */
public record CudaSettings(String device, @Nullable Path driverLibrary, @Nullable Path cublasLtLibrary) {

    /** What {@code device} may be. */
    public static final String DEVICE = "[0-9]{1,3}|(GPU|MIG)-[0-9a-fA-F][0-9a-fA-F-]{0,35}";
    private static final Pattern DEVICES = Pattern.compile(DEVICE);

    public CudaSettings {
        if (!DEVICES.matcher(device).matches()) {
            throw new IllegalArgumentException("device '" + device
                    + "' is neither a number, counted from 0, nor a UUID as nvidia-smi -L lists it");
        }
    }
}
