package dev.warmpath.worker.model;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A model of {@code src/test/resources/families}: its file says what its tensors are called, and a rule that
 * {@code generate.py} shares what they hold.
 */
record FamilyModel(JsonNode config, List<Weights> tensors) {

    private static final Path FOLDER = Path.of("src", "test", "resources", "families");
    private static final JsonMapper JSON = JsonMapper.builder().build();

    /**
     * @param center of its values
     * @param spread the most that they are off it
     * @param seed   name that its values come from; null: its own
     */
    record Weights(String name, List<Integer> shape, double center, double spread, @Nullable String seed) {

        private static final long FNV_OFFSET = 0xCBF29CE484222325L;
        private static final long FNV_PRIME = 0x100000001B3L;

        long size() {
            return shape.stream().mapToLong(Integer::longValue).reduce(1, Math::multiplyExact);
        }

        /** Bits of bfloat16. */
        void write(FileChannel file) throws IOException {
            long start = start();
            ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 20).order(ByteOrder.LITTLE_ENDIAN);
            for (long i = 0; i < size(); ) {
                buffer.clear();
                for (; i < size() && buffer.hasRemaining(); i++) {
                    double u = (mixed(start + i) >>> 40) * 0x1p-23 - 1;
                    buffer.putShort((short) (Float.floatToIntBits((float) (center + spread * u)) >>> 16));
                }
                file.write(buffer.flip());
            }
        }

        private long start() {
            long value = FNV_OFFSET;
            for (byte b : (seed == null ? name : seed).getBytes(StandardCharsets.UTF_8)) {
                value = (value ^ b) * FNV_PRIME;
            }
            return value;
        }

        /** The step and the finalizer of splitmix64. */
        private static long mixed(long state) {
            long z = state + 0x9E3779B97F4A7C15L;
            z = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
            z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
            return z ^ z >>> 31;
        }
    }

    /** The same tensors under other names, after some that have nothing to do with it, beside another configuration. */
    FamilyModel renamed(JsonNode otherConfig, UnaryOperator<String> rename, String... others) {
        var all = new ArrayList<Weights>();
        for (String other : others) {
            all.add(new Weights(other, List.of(3, 5), 0, 1, other));
        }
        tensors.forEach(each -> all.add(new Weights(rename.apply(each.name()), each.shape(), each.center(), each.spread(),
                each.name())));
        return new FamilyModel(otherConfig, all);
    }

    static JsonNode read(String name) {
        return JSON.readTree(FOLDER.resolve(name + ".json"));
    }

    static FamilyModel of(JsonNode file) {
        return new FamilyModel(file.get("config"),
                Arrays.asList(JSON.treeToValue(file.get("tensors"), Weights[].class)));
    }

    /** All cases, but the one that is as wide as real models. */
    static List<String> names() throws IOException {
        try (var files = Files.list(FOLDER)) {
            return files.map(file -> file.getFileName().toString()).filter(name -> name.endsWith(".json"))
                    .map(name -> name.substring(0, name.length() - ".json".length()))
                    .filter(name -> !name.equals("wide")).sorted().toList();
        }
    }

    /** As a model's directory. */
    Path write(Path directory) throws IOException {
        Files.writeString(directory.resolve("config.json"), config.toString());
        long[] end = {0};
        String tensorEntries = tensors.stream().map(tensor -> {
            long start = end[0];
            end[0] += 2 * tensor.size();
            return "\"%s\":{\"dtype\":\"BF16\",\"shape\":%s,\"data_offsets\":[%d,%d]}"
                    .formatted(tensor.name(), tensor.shape(), start, end[0]);
        }).collect(Collectors.joining(",", "{", "}"));
        byte[] header = tensorEntries.getBytes(StandardCharsets.UTF_8);
        try (var file = FileChannel.open(directory.resolve("model.safetensors"), StandardOpenOption.CREATE,
                StandardOpenOption.WRITE)) {
            file.write(ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN).putLong(0, header.length));
            file.write(ByteBuffer.wrap(header));
            for (Weights tensor : tensors) {
                tensor.write(file);
            }
        }
        return directory;
    }
}
