package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.worker.model.Quantization;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

/** Settings of an operator and the model that ships, together. */
class PreflightTest {

    private static final Path WHOLE = Path.of("../models/warmpath-tiny");

    @TempDir
    Path folder;

    @Test
    void what_goes_together_is_measured_and_nothing_is_said() {
        Preflight preflight = preflight(WHOLE);

        assertThat(preflight.problems()).isEmpty();
        assertThat(preflight.warnings()).isEmpty();
        try (var backend = preflight.requireReady().backend()) {
            assertThat(backend.name()).isEqualTo("scalar");
            assertThat(preflight.requireReady().footprint().fileBytes()).isEqualTo(5_510_016);
        }
    }

    @Test
    void weights_that_are_quantized_are_planned_as_they_will_lie_and_one_is_told_where_that_saves_nothing() {
        Preflight scalar = preflight(WHOLE, "model.quantization=int8");
        assertThat(scalar.warnings()).containsExactly("warmpath.model.quantization is int8, which saves no memory with "
                + "backend scalar: it keeps such weights as wide as those of 16 bits");
        Preflight plain = preflight(WHOLE, "compute.backend=vector");
        Preflight int8 = preflight(WHOLE, "compute.backend=vector", "model.quantization=int8");
        assertThat(int8.warnings()).isEmpty();
        try (var _ = scalar.requireReady().backend(); var _ = plain.requireReady().backend();
                var _ = int8.requireReady().backend()) {
            assertThat(int8.requireReady().withContextLength(100).quantization()).isEqualTo(Quantization.INT8);
            // 2,359,296 elements of linear layers in 9 bits in place of 16
            assertThat(plain.requireReady().besideHeap(100) - int8.requireReady().besideHeap(100))
                    .isEqualTo(2_359_296 * 7 / 8);
        }
    }

    @Test
    void settings_and_model_are_wrong_at_the_same_time_and_told_at_the_same_time() throws IOException {
        Path broken = copyWith(header("F16"));
        Files.delete(broken.resolve("tokenizer.json"));

        assertThat(sentences(preflight(broken, "model.context-length=4096", "kv.cache-dtype=fp8",
                "scheduler.max-num-batched-tokens=8", "scheduler.max-num-seqs=9"))).satisfiesExactly(
                        tokenizer -> assertThat(tokenizer).contains("has no tokenizer.json"),
                        context -> assertThat(context).isEqualTo("warmpath.model.context-length is 4096, but the model "
                                + "was made for 2048 tokens. Lower it, or leave it out to serve all of them"),
                        cache -> assertThat(cache).startsWith("warmpath.kv.cache-dtype is fp8, but processors compute"),
                        steps -> assertThat(steps).startsWith("warmpath.scheduler.max-num-batched-tokens is 8, but"));
    }

    @Test
    void a_weight_file_is_read_as_far_as_its_header() throws IOException {
        assertThat(sentences(preflight(copyWith(header("I4"))))).singleElement().asString()
                .contains("model.safetensors: tensor a at byte ", "dtype I4, takes ");
        assertThat(sentences(preflight(copyWith(new byte[3])))).singleElement().asString()
                .contains("file of 3 bytes has no header length");
        assertThat(sentences(preflight(copyWith(header("BF16"))))).singleElement().asString()
                .contains("tensor model.embed_tokens.weight is missing");
    }

    @Test
    void a_configuration_of_sizes_past_all_numbers_is_a_sentence() throws IOException {
        Path huge = copyWith(header("BF16"));
        Files.writeString(huge.resolve("config.json"), Files.readString(WHOLE.resolve("config.json"))
                .replace("\"head_dim\": 32", "\"head_dim\": 2000000000"));

        assertThat(sentences(preflight(huge))).singleElement().asString().contains(huge.toString());
    }

    /** A safetensors file of one tensor of one element. */
    private static byte[] header(String dtype) {
        byte[] json = ("{\"a\":{\"dtype\":\"" + dtype + "\",\"shape\":[1],\"data_offsets\":[0,2]}}")
                .getBytes(StandardCharsets.US_ASCII);
        return ByteBuffer.allocate(Long.BYTES + json.length + 2).order(ByteOrder.LITTLE_ENDIAN).putLong(json.length)
                .put(json).array();
    }

    private Path copyWith(byte[] weights) throws IOException {
        for (String name : List.of("config.json", "tokenizer.json", "tokenizer_config.json")) {
            Files.deleteIfExists(folder.resolve(name));
            Files.copy(WHOLE.resolve(name), folder.resolve(name));
        }
        Files.write(folder.resolve("model.safetensors"), weights);
        return folder;
    }

    private static List<String> sentences(Preflight preflight) {
        return preflight.problems().stream().map(Problem::sentence).toList();
    }

    private static Preflight preflight(Path model, String... settings) {
        Map<String, String> source = new TreeMap<>(Map.of("warmpath.compute.backend", "scalar",
                "warmpath.model.directory", model.toAbsolutePath().toString()));
        Arrays.stream(settings).map(setting -> setting.split("=", 2))
                .forEach(parts -> source.put("warmpath." + parts[0], parts[1]));
        var binder = new Binder(new MapConfigurationPropertySource(source));
        return Preflight.of(binder.bindOrCreate("warmpath.model", ModelProperties.class),
                binder.bindOrCreate("warmpath.kv", KvProperties.class),
                binder.bindOrCreate("warmpath.scheduler", SchedulerProperties.class),
                binder.bindOrCreate("warmpath.compute", ComputeProperties.class));
    }
}
