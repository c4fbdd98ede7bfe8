package dev.warmpath.worker.compute.cuda;

import java.util.ArrayDeque;
import java.util.Deque;

/** Several pieces of memory that are wanted together or not at all. */
final class Reservation implements AutoCloseable {

    private final CudaDevice device;
    private final Deque<Runnable> taken = new ArrayDeque<>();

    Reservation(CudaDevice device) {
        this.device = device;
    }

    DevicePointer allocate(long bytes, String owner) {
        DevicePointer pointer = device.allocate(bytes, owner);
        taken.push(() -> device.free(pointer));
        return pointer;
    }

    <T extends DeviceObject> T with(T object) {
        taken.push(object::close);
        return object;
    }

    /** Everything is there. */
    void keep() {
        taken.clear();
    }

    /** Gives back what was not kept. */
    @Override
    public void close() {
        while (!taken.isEmpty()) {
            taken.pop().run();
        }
    }
}
