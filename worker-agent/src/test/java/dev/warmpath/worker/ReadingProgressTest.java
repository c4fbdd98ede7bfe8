package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

@ExtendWith(OutputCaptureExtension.class)
class ReadingProgressTest {

    @Test
    void every_five_seconds_a_line_says_how_far_it_is_however_many_tensors_come(CapturedOutput log) {
        var nanos = new AtomicLong(7);
        var progress = new ReadingProgress("weights", 1_000L << 20, nanos::get);
        for (int tensor = 0; tensor < 1_000; tensor++) {
            nanos.addAndGet(12_000_000);               // 12 s in all
            progress.add(1 << 20);
        }

        assertThat(log.getOut().lines().filter(line -> line.contains(" read, "))).satisfiesExactly(
                first -> assertThat(first).endsWith("417 MB of 1,000 MB of weights read, 41 %"),
                second -> assertThat(second).endsWith("834 MB of 1,000 MB of weights read, 83 %"));
    }
}
