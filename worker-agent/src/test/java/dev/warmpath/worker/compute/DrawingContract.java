package dev.warmpath.worker.compute;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** What draws tokens on some backend, with a device of its own for each test. */
public abstract class DrawingContract {

    /** Probabilities 0.4, 0.1, 0.4, 0.1 of ids 0 to 3, times any constant. */
    static final float[] FOUR_ONE_FOUR_ONE = {(float) Math.log(4), 0, (float) Math.log(4), 0};

    DeviceData data;

    protected abstract ComputeBackend create();

    /** Draws of a histogram: fewer where each of them takes long. */
    protected int draws(int wanted) {
        return wanted;
    }

    @BeforeEach
    void open() {
        data = new DeviceData(create());
    }

    @AfterEach
    void close() {
        data.close();
    }
}
