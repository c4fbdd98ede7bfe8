package dev.warmpath.worker.compute.cuda;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The memory that was taken from a device and not given back yet. */
final class DeviceMemory {

    private final CudaDriver driver;
    private final Map<Long, DevicePointer> taken = new HashMap<>();

    DeviceMemory(CudaDriver driver) {
        this.driver = driver;
    }

    DevicePointer allocate(long bytes, String owner) {
        if (bytes <= 0) {
            throw new IllegalArgumentException(bytes + " bytes for " + owner);
        }
        var pointer = new DevicePointer(driver.allocate(bytes, () -> shortage(bytes, owner)), bytes, owner);
        taken.put(pointer.address(), pointer);
        return pointer;
    }

    private String shortage(long bytes, String owner) {
        long[] freeAndTotal = driver.memoryInfo();
        return String.format(Locale.ROOT, "%,d bytes for %s; %,d of %,d bytes are free", bytes, owner, freeAndTotal[0],
                freeAndTotal[1]);
    }

    void free(DevicePointer pointer) {
        if (!taken.remove(pointer.address(), pointer)) {
            throw new IllegalArgumentException("%s at %x is freed already, or a part of what was allocated"
                    .formatted(pointer.owner(), pointer.address()));
        }
        driver.free(pointer.address());
    }

    /** What is left. */
    List<DevicePointer> taken() {
        return List.copyOf(taken.values());
    }
}
