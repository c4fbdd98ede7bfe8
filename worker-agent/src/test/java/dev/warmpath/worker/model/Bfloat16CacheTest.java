package dev.warmpath.worker.model;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import dev.warmpath.worker.model.TeacherForced.Deviation;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What models compute on processors from keys and values that are kept in bfloat16. */
class Bfloat16CacheTest {

    private static final int WHOLE = 1000;

    @TempDir
    private Path directory;

    static List<FamilyCase> families() throws IOException {
        return FamilyCase.all();
    }

    @Test
    void logits_of_the_packaged_model_deviate_by_less_than_a_hundredth_and_no_token_changes() throws IOException {
        List<Golden.Prompt> prompts = Golden.read().prompts();
        TeacherForced expected = TeacherForced.run(new VectorBackend(2), prompts, /* positions */ 32);

        Deviation deviation = expected.deviationOf(
                TeacherForced.run(new VectorBackend(2, CacheType.BF16), prompts, /* positions */ 32));
        // 5.6e-3 here
        assertThat(deviation.largest()).isBetween(1e-4, 1e-2);
        assertThat(deviation.differing()).isZero();
        assertThat(deviation.positions()).isEqualTo(360);
    }

    @ParameterizedTest
    @MethodSource("families")
    void logits_of_every_family_stay_near_those_of_float32(FamilyCase family) throws IOException {
        family.model().write(directory);
        ModelConfig config = family.config(directory);
        int blocks = 1 + config.groupWindows().size() * 2 * 16;
        try (var runner = new TestRunner(LoadedModel.load(directory, config, new VectorBackend(2, CacheType.BF16),
                RunnerSettings.of(blocks, 16, 256, 4).steps()).withCache(blocks, 0),
                RunnerSettings.of(blocks, 16, 256, 4))) {
            for (var prompt : family.prompts()) {
                float[] logits = runner.prefill(runner.sequence(prompt.tokens(), prompt.length()), WHOLE);
                // between 1.3e-4 and 1e-2 here; float32 comes within 5e-5
                assertThat(TeacherForced.share(prompt.logits(), logits)).isBetween(1e-4, 2e-2);
            }
        }
    }
}
