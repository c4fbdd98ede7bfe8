package dev.warmpath.worker.model;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.process.GgufWriter;
import dev.warmpath.worker.compute.cpu.VectorBackend;
import dev.warmpath.worker.model.source.ModelSource;
import dev.warmpath.worker.model.weights.WeightFile;
import dev.warmpath.worker.model.weights.WeightTensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * A family's tiny model as a folder, which {@link FamilyGoldenTest} holds to others, and as the GGUF file that
 * llama.cpp makes of that folder. What its converter wrote is in {@code src/test/resources/gguf/converted.jsonl}, a
 * line a case: keys, and of each tensor its name, the folder's name and what was done to it (conversion/ of
 * llama-cpp-python 0.3.36, F32, without a tokenizer). Such a file does not tell a window of Mistral's or Qwen's, nor
 * what scales scores of Gemma's: the folders of the latter have what llama.cpp takes.
 */
class GgufFamilyTest {

    private static final JsonMapper JSON = JsonMapper.shared();

    @TempDir
    private Path folder;

    /** @param logitShare by which logits may differ, of the largest: where factors of the rotation were rounded */
    record Converted(String name, JsonNode keys, JsonNode tensors, double logitShare) {

        @Override
        public String toString() {
            return name;
        }
    }

    static List<Converted> cases() throws IOException {
        return Files.readAllLines(Path.of("src", "test", "resources", "gguf", "converted.jsonl")).stream()
                .map(JSON::readTree).map(line -> new Converted(line.path("case").asString(), line.path("keys"),
                        line.path("tensors"), line.path("tensors").toString().contains("rope_f") ? 5e-6 : 0)).toList();
    }

    @ParameterizedTest
    @MethodSource("cases")
    void a_file_that_llama_cpp_has_made_of_a_folder_computes_what_the_folder_does(Converted converted)
            throws IOException {
        FamilyCase family = FamilyCase.read(converted.name);
        var config = (ObjectNode) family.model().config();
        if (config.has("query_pre_attn_scalar")) {
            config.put("query_pre_attn_scalar", config.path("head_dim").intValue()).remove("sliding_window_pattern");
        }
        ModelSource source = ModelSource.of(family.model().write(folder));
        ModelSource file = ModelSource.of(gguf(converted, source).write(folder.resolve("model.gguf")));
        int[] prompt = family.prompts().getLast().tokens();

        float[] expected = logits(source, family.contextLength(), prompt);
        float[] logits = logits(file, family.contextLength(), prompt);
        assertThat(TeacherForced.share(expected, logits)).isLessThanOrEqualTo(converted.logitShare);
    }

    private static float[] logits(ModelSource source, int contextLength, int[] prompt) throws IOException {
        ModelConfig whole = ModelConfig.read(source);
        ModelConfig config = contextLength == 0 ? whole : whole.withContextLength(contextLength);
        var settings = RunnerSettings.of(60, 16, 256, 1);
        try (var runner = new TestRunner(LoadedModel.load(source, config, new VectorBackend(1),
                settings.steps()).withCache(60, 0), settings)) {
            return runner.prefill(runner.sequence(prompt, prompt.length + 1), 256);
        }
    }

    private static GgufWriter gguf(Converted converted, ModelSource source) throws IOException {
        var writer = new GgufWriter();
        for (var key : converted.keys.properties()) {
            JsonNode value = key.getValue();
            if (value.isString()) {
                writer.put(key.getKey(), value.stringValue());
            } else if (value.isIntegralNumber()) {
                writer.put(key.getKey(), value.intValue());
            } else {
                writer.put(key.getKey(), value.floatValue());
            }
        }
        Map<String, WeightTensor> tensors = new HashMap<>();
        List<WeightFile> files = source.openWeights();
        files.forEach(file -> file.tensors().forEach(tensor -> tensors.put(tensor.name(), tensor)));
        for (JsonNode tensor : converted.tensors) {
            String name = tensor.path(0).asString();
            if (tensor.path(1).isNull()) {
                JsonNode factors = tensor.path(2);
                writer.tensor(name, 0, bytes(floats(factors)), factors.size());
            } else {
                WeightTensor from = tensors.get(tensor.path(1).asString());
                long[] shape = from.shape().stream().mapToLong(Integer::longValue).toArray();
                float[] values = changed(from, tensor.path(2).asString(""), heads(converted, name));
                writer.tensor(name, 0, bytes(values), shape);
            }
        }
        files.forEach(WeightFile::close);
        return writer.put("tokenizer.ggml.model", "gpt2").put("tokenizer.ggml.pre", "gpt-2")
                .put("tokenizer.ggml.tokens", IntStream.range(0, 256).mapToObj(id -> "t" + id).toList());
    }

    private static int heads(Converted converted, String name) {
        String key = ".attention.head_count" + (name.contains("attn_k") ? "_kv" : "");
        return converted.keys.path(converted.keys.path("general.architecture").asString() + key).intValue();
    }

    private static float[] changed(WeightTensor tensor, String change, int heads) {
        int rows = tensor.shape().getFirst();
        int columns = tensor.shape().size() == 1 ? 1 : tensor.shape().getLast();
        var values = new float[rows * columns];
        try (var arena = Arena.ofConfined()) {
            tensor.format().widen(tensor.rows(0, rows, arena), 0, values.length, values);
        }
        return switch (change) {
            case "plus one" -> plusOne(values);
            case "permuted" -> permuted(values, rows / heads, columns);
            default -> values;
        };
    }

    private static float[] plusOne(float[] values) {
        var sums = new float[values.length];
        for (int i = 0; i < values.length; i++) {
            sums[i] = values[i] + 1;
        }
        return sums;
    }

    /** Rows of a head: those of its halves in turns. */
    private static float[] permuted(float[] values, int headSize, int columns) {
        var permuted = new float[values.length];
        for (int i = 0; i < values.length; i++) {
            int row = i / columns;
            int first = row - row % headSize;
            int from = first + row % headSize / 2 + row % 2 * headSize / 2;
            permuted[i] = values[from * columns + i % columns];
        }
        return permuted;
    }

    private static float[] floats(JsonNode list) {
        var floats = new float[list.size()];
        for (int i = 0; i < floats.length; i++) {
            floats[i] = list.path(i).floatValue();
        }
        return floats;
    }

    private static byte[] bytes(float[] values) {
        ByteBuffer bytes = ByteBuffer.allocate(Float.BYTES * values.length).order(ByteOrder.LITTLE_ENDIAN);
        for (float value : values) {
            bytes.putFloat(value);
        }
        return bytes.array();
    }
}
