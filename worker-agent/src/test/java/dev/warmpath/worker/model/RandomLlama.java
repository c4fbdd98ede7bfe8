package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.WeightFormat;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/** A small Llama with random weights, written as a model directory and kept as float32 for a reference. */
public record RandomLlama(ModelConfig config, Map<String, float[]> weights) {

    /** Two layers, three query heads over each of two key/value heads, odd sizes elsewhere, an untied head. */
    public static RandomLlama create(long seed) {
        return create(seed, Collections.nCopies(2, AttentionSpec.plain(10)));
    }

    /** Likewise, with layers of these kinds of attention, of which {@link #write} tells the file nothing. */
    public static RandomLlama create(long seed, List<AttentionSpec> layers) {
        return create(seed, layers, 71);
    }

    /** Likewise, with so many tokens. */
    public static RandomLlama create(long seed, List<AttentionSpec> layers, int vocabulary) {
        var shapes = layers.stream().map(layer -> new LayerShape(layer, Rotation.plain(10, 10_000))).toList();
        var config = new ModelConfig(ModelFamily.LLAMA, /* hidden */ 36, shapes, /* heads */ 6, /* kvHeads */ 2,
                /* headSize */ 10, /* intermediate */ 52, vocabulary, /* context */ 200, 1e-5f, StreamSpec.PLAIN,
                /* tied */ false);
        var model = new RandomLlama(config, new LinkedHashMap<>());
        model.fill(new SplittableRandom(seed));
        return model;
    }

    private void fill(SplittableRandom random) {
        int hidden = config.hiddenSize();
        int queries = config.headCount() * config.headSize();
        int keys = config.kvHeadCount() * config.headSize();
        matrix(random, "model.embed_tokens.weight", config.vocabularySize(), hidden, 1);
        for (int layer = 0; layer < config.layerCount(); layer++) {
            String prefix = "model.layers." + layer + ".";
            norm(random, prefix + "input_layernorm.weight");
            norm(random, prefix + "post_attention_layernorm.weight");
            matrix(random, prefix + "self_attn.q_proj.weight", queries, hidden, 0.4);
            matrix(random, prefix + "self_attn.k_proj.weight", keys, hidden, 0.4);
            matrix(random, prefix + "self_attn.v_proj.weight", keys, hidden, 0.2);
            matrix(random, prefix + "self_attn.o_proj.weight", hidden, queries, 0.2);
            matrix(random, prefix + "mlp.gate_proj.weight", config.intermediateSize(), hidden, 0.2);
            matrix(random, prefix + "mlp.up_proj.weight", config.intermediateSize(), hidden, 0.2);
            matrix(random, prefix + "mlp.down_proj.weight", hidden, config.intermediateSize(), 0.2);
        }
        norm(random, "model.norm.weight");
        matrix(random, "lm_head.weight", config.vocabularySize(), hidden, 0.3);
    }

    private void matrix(SplittableRandom random, String name, int rows, int columns, double scale) {
        float[] values = new float[rows * columns];
        for (int i = 0; i < values.length; i++) {
            values[i] = bf16(random.nextDouble(-scale, scale));
        }
        weights.put(name, values);
    }

    private void norm(SplittableRandom random, String name) {
        float[] values = new float[config.hiddenSize()];
        for (int i = 0; i < values.length; i++) {
            values[i] = bf16(random.nextDouble(0.5, 1.5));
        }
        weights.put(name, values);
    }

    /** Cuts to BF16, so that the file holds the values exactly. */
    private static float bf16(double value) {
        return Float.intBitsToFloat(Float.floatToIntBits((float) value) & 0xFFFF_0000);
    }

    public void write(Path directory) throws IOException {
        write(directory, WeightFormat.BF16);
    }

    /** @param format of the stored weights: F32 and BF16 hold the values exactly, F16 those of norms */
    void write(Path directory, WeightFormat format) throws IOException {
        Files.writeString(directory.resolve("config.json"), """
                {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "hidden_size": 36,
                 "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 10,
                 "intermediate_size": 52, "vocab_size": %d, "max_position_embeddings": 200, "rms_norm_eps": 1e-5,
                 "rope_theta": 10000.0, "rope_scaling": null, "tie_word_embeddings": false, "torch_dtype": "bfloat16"}
                """.formatted(config.vocabularySize()));
        var header = new StringBuilder("{\"__metadata__\":{\"format\":\"pt\"}");
        int bytes = 0;
        for (var weight : weights.entrySet()) {
            int size = (int) format.bytes(weight.getValue().length);
            header.append(",\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%d,%d]}".formatted(weight.getKey(),
                    format, shape(weight.getKey(), weight.getValue().length), bytes, bytes + size));
            bytes += size;
        }
        byte[] json = header.append('}').toString().getBytes(StandardCharsets.UTF_8);
        var file = ByteBuffer.allocate(Long.BYTES + json.length + bytes).order(ByteOrder.LITTLE_ENDIAN);
        file.putLong(json.length).put(json);
        for (float[] values : weights.values()) {
            for (float value : values) {
                switch (format) {
                    case F32 -> file.putFloat(value);
                    case F16 -> file.putShort(Float.floatToFloat16(value));
                    case BF16 -> file.putShort((short) (Float.floatToIntBits(value) >>> 16));
                    default -> throw new IllegalArgumentException("safetensors has no " + format);
                }
            }
        }
        Files.write(directory.resolve("model.safetensors"), file.array());
    }

    private String shape(String name, int length) {
        if (name.endsWith("norm.weight")) {
            return "[%d]".formatted(length);
        }
        int columns = name.contains("o_proj") ? config.headCount() * config.headSize()
                : name.contains("down_proj") ? config.intermediateSize() : config.hiddenSize();
        return "[%d,%d]".formatted(length / columns, columns);
    }
}
