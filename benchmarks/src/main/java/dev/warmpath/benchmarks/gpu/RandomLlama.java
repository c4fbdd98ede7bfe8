package dev.warmpath.benchmarks.gpu;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Writes a model directory of a shape with random weights, under Hugging Face's names.
 */
final class RandomLlama {

    private static final int BUFFER_BYTES = 8 << 20;
    /** Rows and columns by name; a norm has one row. */
    private final Map<String, int[]> tensors = new LinkedHashMap<>();
    private final SplittableRandom random = new SplittableRandom(11);

    private RandomLlama(LlamaShape shape) {
        int queries = shape.heads() * shape.headSize();
        int keys = shape.kvHeads() * shape.headSize();
        tensors.put("model.embed_tokens.weight", new int[] {shape.vocabulary(), shape.hidden()});
        for (int layer = 0; layer < shape.layers(); layer++) {
            String prefix = "model.layers." + layer + ".";
            tensors.put(prefix + "input_layernorm.weight", new int[] {1, shape.hidden()});
            tensors.put(prefix + "post_attention_layernorm.weight", new int[] {1, shape.hidden()});
            tensors.put(prefix + "self_attn.q_proj.weight", new int[] {queries, shape.hidden()});
            tensors.put(prefix + "self_attn.k_proj.weight", new int[] {keys, shape.hidden()});
            tensors.put(prefix + "self_attn.v_proj.weight", new int[] {keys, shape.hidden()});
            tensors.put(prefix + "self_attn.o_proj.weight", new int[] {shape.hidden(), queries});
            tensors.put(prefix + "mlp.gate_proj.weight", new int[] {shape.intermediate(), shape.hidden()});
            tensors.put(prefix + "mlp.up_proj.weight", new int[] {shape.intermediate(), shape.hidden()});
            tensors.put(prefix + "mlp.down_proj.weight", new int[] {shape.hidden(), shape.intermediate()});
        }
        tensors.put("model.norm.weight", new int[] {1, shape.hidden()});
    }

    /** Writes {@code config.json} and {@code model.safetensors} into an existing directory. */
    static void write(LlamaShape shape, Path directory) throws IOException {
        Files.writeString(directory.resolve("config.json"), """
                {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
                 "num_hidden_layers": %d, "hidden_size": %d, "num_attention_heads": %d, "num_key_value_heads": %d,
                 "head_dim": %d, "intermediate_size": %d, "vocab_size": %d, "max_position_embeddings": %d,
                 "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "tie_word_embeddings": true, "torch_dtype": "bfloat16"}
                """.formatted(shape.layers(), shape.hidden(), shape.heads(), shape.kvHeads(), shape.headSize(),
                shape.intermediate(), shape.vocabulary(), shape.contextLength()));
        try (var file = FileChannel.open(directory.resolve("model.safetensors"),
                StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)) {
            new RandomLlama(shape).write(file);
        }
    }

    private void write(FileChannel file) throws IOException {
        byte[] header = header().getBytes(StandardCharsets.UTF_8);
        var start = ByteBuffer.allocate(Long.BYTES + header.length).order(ByteOrder.LITTLE_ENDIAN);
        writeFully(file, start.putLong(header.length).put(header).flip());
        var buffer = ByteBuffer.allocateDirect(BUFFER_BYTES).order(ByteOrder.LITTLE_ENDIAN);
        for (var tensor : tensors.values()) {
            fill(file, buffer, (long) tensor[0] * tensor[1] * RandomBf16.BYTES,
                    tensor[0] == 1 ? RandomBf16.NORM : RandomBf16.WEIGHT);
        }
    }

    private String header() {
        var header = new StringBuilder("{\"__metadata__\":{\"format\":\"pt\"}");
        long offset = 0;
        for (var tensor : tensors.entrySet()) {
            int rows = tensor.getValue()[0];
            int columns = tensor.getValue()[1];
            long end = offset + (long) rows * columns * RandomBf16.BYTES;
            header.append(",\"%s\":{\"dtype\":\"BF16\",\"shape\":%s,\"data_offsets\":[%d,%d]}".formatted(
                    tensor.getKey(), rows == 1 ? "[" + columns + "]" : "[" + rows + "," + columns + "]", offset, end));
            offset = end;
        }
        return header.append('}').toString();
    }

    /** @param bytes a multiple of 8, as all sizes of the shapes here are */
    private void fill(FileChannel file, ByteBuffer buffer, long bytes, RandomBf16 kind) throws IOException {
        for (long left = bytes; left > 0; left -= buffer.limit()) {
            buffer.clear().limit((int) Math.min(left, BUFFER_BYTES));
            kind.fill(MemorySegment.ofBuffer(buffer), random);
            writeFully(file, buffer);
        }
    }

    private static void writeFully(FileChannel file, ByteBuffer buffer) throws IOException {
        while (buffer.hasRemaining()) {
            file.write(buffer);
        }
    }
}
