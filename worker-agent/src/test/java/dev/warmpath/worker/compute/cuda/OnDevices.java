package dev.warmpath.worker.compute.cuda;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;

/** Tests of single kernels: the same on the emulated device and on a card. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class OnDevices {

    protected DeviceArrays arrays;

    abstract DeviceArrays open();

    @BeforeAll
    void openDevice() {
        arrays = open();
    }

    @AfterAll
    void closeDevice() {
        arrays.close();
    }
}
