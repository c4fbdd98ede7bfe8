package dev.warmpath.worker.compute.cuda;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;

/** Tests of single kernels, the same on the emulated device and on a card: a nested class for each says where. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class OnDevices {

    protected DeviceArrays arrays;

    @BeforeAll
    void openDevice() {
        arrays = getClass().isAnnotationPresent(OnCard.class) ? DeviceArrays.onCard() : DeviceArrays.emulated();
    }

    @AfterAll
    void closeDevice() {
        arrays.close();
    }
}
