package dev.warmpath.worker.model;

import dev.warmpath.worker.compute.Bf16;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.DataType;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.model.weights.WeightTensor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * A Llama model's weights on the device, under Hugging Face's names. Projections that read the same input are one
 * matrix: queries over keys over values, gate over up.
 */
record LlamaWeights(Tensor embedding, List<Layer> layers, Tensor finalNorm, Tensor head) {

    /** Matrices are [outputs, inputs]; norms [1, hidden]. */
    record Layer(Tensor inputNorm, Tensor qkv, Tensor output, Tensor postAttentionNorm, Tensor gateUp, Tensor down) {
    }

    static LlamaWeights load(Path directory, ModelConfig config, ComputeBackend backend) throws IOException {
        try (var files = WeightFiles.open(directory)) {
            var weights = new Loader(files, config, backend).load();
            files.requireAllTaken(config.tiedEmbeddings());
            return weights;
        }
    }

    private record Loader(WeightFiles files, ModelConfig config, ComputeBackend backend) {

        private static final ValueLayout.OfShort SHORT =
                ValueLayout.JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
        private static final ValueLayout.OfFloat FLOAT =
                ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

        LlamaWeights load() {
            int hidden = config.hiddenSize();
            Tensor embedding = matrix(hidden, part("model.embed_tokens.weight", config.vocabularySize()));
            List<Layer> layers = new ArrayList<>();
            for (int layer = 0; layer < config.layerCount(); layer++) {
                layers.add(layer("model.layers.%d.".formatted(layer)));
            }
            Tensor head = config.tiedEmbeddings() ? embedding
                    : matrix(hidden, part("lm_head.weight", config.vocabularySize()));
            return new LlamaWeights(embedding, List.copyOf(layers), norm("model.norm.weight"), head);
        }

        private Layer layer(String prefix) {
            int hidden = config.hiddenSize();
            int queries = config.headCount() * config.headSize();
            int keys = config.kvHeadCount() * config.headSize();
            int wide = config.intermediateSize();
            return new Layer(norm(prefix + "input_layernorm.weight"),
                    matrix(hidden, part(prefix + "self_attn.q_proj.weight", queries),
                            part(prefix + "self_attn.k_proj.weight", keys),
                            part(prefix + "self_attn.v_proj.weight", keys)),
                    matrix(queries, part(prefix + "self_attn.o_proj.weight", hidden)),
                    norm(prefix + "post_attention_layernorm.weight"),
                    matrix(hidden, part(prefix + "mlp.gate_proj.weight", wide),
                            part(prefix + "mlp.up_proj.weight", wide)),
                    matrix(wide, part(prefix + "mlp.down_proj.weight", hidden)));
        }

        private record Part(String name, int rows) {
        }

        private static Part part(String name, int rows) {
            return new Part(name, rows);
        }

        private Tensor matrix(int columns, Part... parts) {
            int rows = 0;
            for (Part part : parts) {
                rows += part.rows();
            }
            Tensor weight = backend.allocateWeight(rows, columns);
            int firstRow = 0;
            for (Part part : parts) {
                WeightTensor source = files.take(part.name(), List.of(part.rows(), columns));
                backend.upload(weight, firstRow, part.rows(), source.type(), source.values());
                firstRow += part.rows();
            }
            return weight;
        }

        /** Norm weights are few and plain tensors: turned into the activations' type here. */
        private Tensor norm(String name) {
            WeightTensor source = files.take(name, List.of(config.hiddenSize()));
            Tensor norm = backend.allocate(backend.activationType(), 1, config.hiddenSize());
            try (var arena = Arena.ofConfined()) {
                backend.write(norm, converted(source, backend.activationType(), arena));
            }
            return norm;
        }

        private static MemorySegment converted(WeightTensor source, DataType wanted, Arena arena) {
            return source.type() == wanted ? source.values() : switch (wanted) {
                case F32 -> widened(source.values(), arena);
                case BF16 -> narrowed(source.values(), arena);
                case I32, I64 -> throw new IllegalArgumentException("no norm weights are " + wanted);
            };
        }

        private static MemorySegment widened(MemorySegment bf16, Arena arena) {
            long count = bf16.byteSize() / DataType.BF16.bytes();
            var floats = arena.allocate(ValueLayout.JAVA_FLOAT, count);
            for (long i = 0; i < count; i++) {
                floats.setAtIndex(ValueLayout.JAVA_FLOAT, i, Bf16.toFloat(bf16.getAtIndex(SHORT, i)));
            }
            return floats;
        }

        private static MemorySegment narrowed(MemorySegment floats, Arena arena) {
            long count = floats.byteSize() / DataType.F32.bytes();
            var bf16 = arena.allocate(ValueLayout.JAVA_SHORT, count);
            for (long i = 0; i < count; i++) {
                bf16.setAtIndex(ValueLayout.JAVA_SHORT, i, Bf16.of(floats.getAtIndex(FLOAT, i)));
            }
            return bf16;
        }
    }
}
