package dev.warmpath.worker.model.weights;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a GGUF file says of its model, by key. A value of another type than is asked for is refused by its key, a whole
 * number where a fraction may stand is taken. Arrays are read from the mapped file each time, which must be open.
 */
public final class GgufMetadata {

    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    private final Path file;
    private final Map<String, GgufValue> values;
    private final MemorySegment mapped;

    GgufMetadata(Path file, Map<String, GgufValue> values, MemorySegment mapped) {
        this.file = file;
        this.values = values;
        this.mapped = mapped;
    }

    /** Takes the strings of an array, one after the other. */
    public interface Texts<E extends Exception> {
        void accept(int index, String text) throws E;
    }

    /** In the order of the file. */
    public Set<String> keys() {
        return values.keySet();
    }

    public boolean has(String key) {
        return values.containsKey(key);
    }

    /** @throws WeightFileException if there is none, or it is no string */
    public String text(String key) {
        String text = text(key, null);
        if (text == null) {
            throw refused(key, "is missing");
        }
        return text;
    }

    public @Nullable String text(String key, @Nullable String absent) {
        return switch (values.get(key)) {
            case null -> absent;
            case GgufValue.Text text -> text.value();
            case GgufValue other -> throw refused(key, "is no string");
        };
    }

    /** @throws WeightFileException if there is none, or it is no whole number of 32 bits from 0 on */
    public int count(String key) {
        if (!has(key)) {
            throw refused(key, "is missing");
        }
        return count(key, 0);
    }

    public int count(String key, int absent) {
        return switch (values.get(key)) {
            case null -> absent;
            case GgufValue.Whole whole when whole.value() >= 0 && whole.value() <= Integer.MAX_VALUE ->
                    (int) whole.value();
            case GgufValue other -> throw refused(key, "is no whole number from 0 to %d".formatted(Integer.MAX_VALUE));
        };
    }

    /** @throws WeightFileException if there is none, or it is no number */
    public double number(String key) {
        if (!has(key)) {
            throw refused(key, "is missing");
        }
        return number(key, 0);
    }

    public double number(String key, double absent) {
        return switch (values.get(key)) {
            case null -> absent;
            case GgufValue.Real real -> real.value();
            case GgufValue.Whole whole -> whole.value();
            case GgufValue other -> throw refused(key, "is no number");
        };
    }

    public boolean flag(String key, boolean absent) {
        return switch (values.get(key)) {
            case null -> absent;
            case GgufValue.Flag flag -> flag.value();
            case GgufValue other -> throw refused(key, "is neither true nor false");
        };
    }

    public boolean isArray(String key) {
        return values.get(key) instanceof GgufValue.Array;
    }

    /** @return 0 if there is no such array */
    public int length(String key) {
        return values.get(key) instanceof GgufValue.Array array ? array.count() : 0;
    }

    /** @throws WeightFileException if it is there, but no array of UTF-8 strings */
    public <E extends Exception> void texts(String key, Texts<E> consumer) throws E {
        GgufValue.Array array = array(key, GgufType.STRING);
        long at = array == null ? 0 : array.offset();
        for (int i = 0; array != null && i < array.count(); i++) {
            int length = (int) mapped.get(LONG, at);
            consumer.accept(i, decoded(key, at + Long.BYTES, length));
            at += Long.BYTES + length;
        }
    }

    private String decoded(String key, long at, int length) {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(mapped.asSlice(at, length).asByteBuffer()).toString();
        } catch (CharacterCodingException e) {
            throw new WeightFileException(file, WeightFileException.key(key), at, "holds a string that is not UTF-8");
        }
    }

    /** @return null if it is missing. @throws WeightFileException if it is no array of int32 or uint32 */
    public int @Nullable [] integers(String key) {
        GgufValue.Array array = array(key, GgufType.INT32, GgufType.UINT32);
        return array == null ? null : mapped.asSlice(array.offset(), 4L * array.count()).toArray(INT);
    }

    /** @return null if it is missing. @throws WeightFileException if it is no array of float32 */
    public float @Nullable [] numbers(String key) {
        GgufValue.Array array = array(key, GgufType.FLOAT32);
        return array == null ? null : mapped.asSlice(array.offset(), 4L * array.count())
                .toArray(ValueLayout.JAVA_FLOAT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN));
    }

    private GgufValue.@Nullable Array array(String key, GgufType... elements) {
        return switch (values.get(key)) {
            case null -> null;
            case GgufValue.Array array when Set.of(elements).contains(array.elements()) -> array;
            case GgufValue other -> throw refused(key, "is no array of " + elements[0]);
        };
    }

    /** @param problem a clause that follows the key */
    public WeightFileException refused(String key, String problem) {
        GgufValue value = values.get(key);
        return new WeightFileException(file, WeightFileException.key(key), value == null ? 0 : value.offset(), problem);
    }
}
