package dev.warmpath.worker.compute.cpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.compute.WeightFormat;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Map;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;

/** Panels lie in files that processes share, so that those of another release must not be taken for these. */
class PanelLayoutTest {

    private static final int COLUMNS = 256;
    /** By lanes of a vector. */
    private static final Map<Integer, Long> CHECKSUMS = Map.of(4, 1_236_535_161L, 8, 1_090_605_452L, 16, 3_432_351_572L);

    @Test
    void a_panel_of_other_bytes_is_another_layout() {
        var checksum = new CRC32C();
        var random = new Random(1);
        for (WeightFormat format : WeightFormat.values()) {
            MemorySegment row = Arena.ofAuto().allocate(format.bytes(COLUMNS));
            for (long i = 0; i < row.byteSize(); i++) {
                row.set(ValueLayout.JAVA_BYTE, i, (byte) random.nextInt());
            }
            PanelFormat panels = PanelFormat.of(format);
            MemorySegment panel = Arena.ofAuto().allocate(panels.bytes(COLUMNS), 64);
            panels.pack(format, row, 0, COLUMNS, /* output */ 3, panel);
            checksum.update(panel.asByteBuffer());
        }

        assertThat(PanelFormat.LAYOUT).isEqualTo(1);
        assertThat(checksum.getValue()).as("if that is meant, raise PanelFormat.LAYOUT, and renew this number")
                .isEqualTo(CHECKSUMS.get(VectorMath.LANES));
    }
}
