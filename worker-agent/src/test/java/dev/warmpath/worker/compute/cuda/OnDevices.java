package dev.warmpath.worker.compute.cuda;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;

/** Tests of single kernels: the same on the emulated device and, tagged {@code cuda-device}, on a card. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class OnDevices {

    protected DeviceArrays arrays;

    /** Opens the device, or skips all tests aloud. */
    abstract DeviceArrays open();

    @BeforeAll
    void openDevice() {
        arrays = open();
    }

    @AfterAll
    void closeDevice() {
        if (arrays != null) {
            arrays.close();
        }
    }
}
