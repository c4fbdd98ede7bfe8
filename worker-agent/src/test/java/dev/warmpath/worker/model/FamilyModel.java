package dev.warmpath.worker.model;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A model of {@code src/test/resources/families}: its file says what its tensors are called, and a rule that
 * {@code generate.py} shares what they hold.
 */
record FamilyModel(JsonNode config, List<Weights> tensors) {

    private static final Path FOLDER = Path.of("src", "test", "resources", "families");
    private static final JsonMapper JSON = JsonMapper.builder().build();

    /** @param center of its values @param spread the most that they are off it */
    record Weights(String name, List<Integer> shape, double center, double spread) {

        private static final long FNV_OFFSET = 0xCBF29CE484222325L;
        private static final long FNV_PRIME = 0x100000001B3L;

        long size() {
            return shape.stream().mapToLong(Integer::longValue).reduce(1, Math::multiplyExact);
        }

        /** Bits of bfloat16. */
        void write(FileChannel file) throws IOException {
            long seed = seed();
            ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 20).order(ByteOrder.LITTLE_ENDIAN);
            for (long i = 0; i < size(); ) {
                buffer.clear();
                for (; i < size() && buffer.hasRemaining(); i++) {
                    double u = (mixed(seed + i) >>> 40) * 0x1p-23 - 1;
                    buffer.putShort((short) (Float.floatToIntBits((float) (center + spread * u)) >>> 16));
                }
                file.write(buffer.flip());
            }
        }

        private long seed() {
            long value = FNV_OFFSET;
            for (byte b : name.getBytes(StandardCharsets.UTF_8)) {
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
