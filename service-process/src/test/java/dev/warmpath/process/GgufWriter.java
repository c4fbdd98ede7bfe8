package dev.warmpath.process;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Writes GGUF files for tests: version 3, in the order of the calls. */
public final class GgufWriter {

    public static final int UINT8 = 0;
    public static final int UINT16 = 2;
    public static final int UINT32 = 4;
    public static final int INT32 = 5;
    public static final int FLOAT32 = 6;
    public static final int BOOL = 7;
    public static final int STRING = 8;
    public static final int ARRAY = 9;
    public static final int UINT64 = 10;

    private static final int ALIGNMENT = 32;

    private record Tensor(String name, int type, long[] shape, byte[] values) {
    }

    /** Type and value, as they stand in the file. */
    private final Map<String, byte[]> values = new LinkedHashMap<>();
    private final List<Tensor> tensors = new ArrayList<>();
    private int version = 3;

    /** A llama of one layer, of nothing but F32: 8 wide, 2 heads over 1, 16 in its feed-forward layer. */
    public static GgufWriter llama(int tokens) {
        var writer = new GgufWriter().put("general.architecture", "llama").put("llama.context_length", 64)
                .put("llama.embedding_length", 8).put("llama.block_count", 1).put("llama.feed_forward_length", 16)
                .put("llama.attention.head_count", 2).put("llama.attention.head_count_kv", 1)
                .put("llama.attention.layer_norm_rms_epsilon", 1e-5f);
        writer.ones("token_embd.weight", tokens, 8).ones("output_norm.weight", 8).ones("blk.0.attn_norm.weight", 8)
                .ones("blk.0.attn_q.weight", 8, 8).ones("blk.0.attn_k.weight", 4, 8).ones("blk.0.attn_v.weight", 4, 8)
                .ones("blk.0.attn_output.weight", 8, 8).ones("blk.0.ffn_norm.weight", 8)
                .ones("blk.0.ffn_gate.weight", 16, 8).ones("blk.0.ffn_up.weight", 16, 8)
                .ones("blk.0.ffn_down.weight", 8, 16);
        return writer;
    }

    public GgufWriter version(int other) {
        version = other;
        return this;
    }

    public GgufWriter put(String key, String text) {
        return put(key, STRING, string(text));
    }

    public GgufWriter put(String key, int number) {
        return put(key, UINT32, little(4).putInt(number).array());
    }

    public GgufWriter put(String key, float number) {
        return put(key, FLOAT32, little(4).putFloat(number).array());
    }

    public GgufWriter put(String key, boolean flag) {
        return put(key, BOOL, new byte[] {(byte) (flag ? 1 : 0)});
    }

    public GgufWriter put(String key, List<String> texts) {
        var elements = new ByteArrayOutputStream();
        texts.forEach(text -> elements.writeBytes(string(text)));
        return put(key, ARRAY, array(STRING, texts.size(), elements.toByteArray()));
    }

    public GgufWriter put(String key, int[] numbers) {
        ByteBuffer elements = little(4 * numbers.length);
        for (int number : numbers) {
            elements.putInt(number);
        }
        return put(key, ARRAY, array(INT32, numbers.length, elements.array()));
    }

    public GgufWriter put(String key, float[] numbers) {
        ByteBuffer elements = little(4 * numbers.length);
        for (float number : numbers) {
            elements.putFloat(number);
        }
        return put(key, ARRAY, array(FLOAT32, numbers.length, elements.array()));
    }

    /** Anything: also what breaks the format. */
    public GgufWriter put(String key, int type, byte[] value) {
        values.put(key, joined(little(4).putInt(type).array(), value));
        return this;
    }

    public GgufWriter without(String key) {
        values.remove(key);
        return this;
    }

    /** A tensor of F32. @param shape outermost first */
    public GgufWriter ones(String name, long... shape) {
        int elements = 1;
        for (long dimension : shape) {
            elements *= (int) dimension;
        }
        ByteBuffer values = little(4 * elements);
        while (values.hasRemaining()) {
            values.putFloat(1);
        }
        return tensor(name, 0, values.array(), shape);
    }

    /** @param type as ggml numbers them @param shape outermost first */
    public GgufWriter tensor(String name, int type, byte[] bytes, long... shape) {
        tensors.removeIf(other -> other.name.equals(name));
        tensors.add(new Tensor(name, type, shape, bytes));
        return this;
    }

    public GgufWriter withoutTensor(String name) {
        tensors.removeIf(other -> other.name.equals(name));
        return this;
    }

    public Path write(Path file) throws IOException {
        return Files.write(file, bytes());
    }

    public byte[] bytes() {
        var header = new ByteArrayOutputStream();
        header.writeBytes("GGUF".getBytes(StandardCharsets.US_ASCII));
        header.writeBytes(little(20).putInt(version).putLong(tensors.size()).putLong(values.size()).array());
        values.forEach((key, value) -> header.writeBytes(joined(string(key), value)));
        var data = new ByteArrayOutputStream();
        for (Tensor tensor : tensors) {
            ByteBuffer info = little(4 + 8 * tensor.shape.length + 4 + 8).putInt(tensor.shape.length);
            for (int i = tensor.shape.length - 1; i >= 0; i--) {
                info.putLong(tensor.shape[i]);
            }
            header.writeBytes(joined(string(tensor.name), info.putInt(tensor.type).putLong(data.size()).array()));
            data.writeBytes(tensor.values);
            pad(data);
        }
        pad(header);
        return joined(header.toByteArray(), data.toByteArray());
    }

    private static void pad(ByteArrayOutputStream bytes) {
        bytes.writeBytes(new byte[Math.floorMod(-bytes.size(), ALIGNMENT)]);
    }

    private static byte[] string(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return joined(little(8).putLong(bytes.length).array(), bytes);
    }

    private static byte[] array(int type, int count, byte[] elements) {
        return joined(little(12).putInt(type).putLong(count).array(), elements);
    }

    private static ByteBuffer little(int bytes) {
        return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
    }

    private static byte[] joined(byte[] first, byte[] second) {
        return ByteBuffer.allocate(first.length + second.length).put(first).put(second).array();
    }
}
