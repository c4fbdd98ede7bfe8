package dev.warmpath.worker.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.catchThrowable;

import com.sun.management.ThreadMXBean;
import dev.warmpath.worker.compute.cpu.ScalarBackend;
import dev.warmpath.worker.model.source.ModelSource;
import dev.warmpath.worker.model.weights.WeightFileException;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Loads models that are broken, and sees that each is refused by name and takes no more memory than a good one. */
final class Refusals {

    /** A good one takes some hundred kilobytes once all classes are there. */
    private static final long MOST_BYTES = 4 << 20;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final Path model;
    int count;

    /** @param model a folder or file that is rewritten time and again */
    Refusals(Path model) {
        this.model = model;
    }

    /** Everything that is done with a model before it is served: its files made, its weights put on a device. */
    private void load() throws IOException {
        ModelSource source = ModelSource.of(model);
        for (String name : List.of(ModelSource.CONFIG, ModelSource.TOKENIZER, ModelSource.TOKENIZER_CONFIG,
                ModelSource.GENERATION_CONFIG)) {
            source.file(name);
        }
        ModelConfig config = ModelConfig.read(source);
        EosTokens.read(source);
        // a worker refuses a context that its cache cannot hold before it loads weights
        config = config.withContextLength(Math.min(config.contextLength(), 4_096));
        try (var backend = new ScalarBackend()) {
            WeightLoader.load(source, config, backend,
                    new WeightUpload(backend, Quantization.NONE, /* hasValues */ true, _ -> { }));
        }
    }

    /** @return null if the model is taken */
    private @Nullable Throwable attempt() {
        long before = THREADS.getCurrentThreadAllocatedBytes();
        Throwable refusal = catchThrowable(this::load);
        assertThat(THREADS.getCurrentThreadAllocatedBytes() - before).isLessThan(MOST_BYTES);
        if (refusal != null) {
            assertThat(refusal).isInstanceOfAny(WeightFileException.class, UnsupportedModelException.class,
                    IOException.class);
            assertThat(refusal.getMessage()).containsAnyOf(model.getFileName().toString(), "no model has hidden size");
        }
        if (refusal instanceof WeightFileException broken) {
            assertThat(broken.part()).isNotEmpty();
            assertThat(broken.offset()).isNotNegative();
        }
        return refusal;
    }

    /** Twice: what classes take when they are first used is not counted. */
    void requireTaken() {
        assertThatCode(this::load).doesNotThrowAnyException();
        assertThat(attempt()).isNull();
    }

    /** @param what for whoever sees it taken. @return the message */
    String requireRefused(String what, Path file, byte[] content) throws IOException {
        Files.write(file, content);
        Throwable refusal = attempt();
        assertThat(refusal).as(what).isNotNull();
        count++;
        return String.valueOf(refusal == null ? null : refusal.getMessage());
    }

    /** Taken or refused, but nothing else. @return whether it was refused */
    boolean survive(Path file, byte[] content) throws IOException {
        Files.write(file, content);
        return attempt() != null;
    }
}
