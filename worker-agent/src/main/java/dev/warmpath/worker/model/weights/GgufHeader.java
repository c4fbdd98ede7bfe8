package dev.warmpath.worker.model.weights;

import static dev.warmpath.worker.model.weights.WeightFileException.HEADER;

import dev.warmpath.worker.compute.WeightFormat;
import dev.warmpath.worker.model.weights.MappedFile.Entry;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The header of a GGUF file, held to the format's rules. All numbers are little-endian; a string is its length in bytes
 * (8 bytes) and its UTF-8.
 * <pre>
 *   "GGUF", version (4), number of tensors (8), number of keys (8)
 *   each key:     string, type (4), value; an array's: type (4) and number (8) of its elements, then these
 *   each tensor:  string, number of dimensions (4), dimensions (8 each, the innermost first), type (4), offset (8)
 *   up to a multiple of general.alignment (32); from here, offsets count
 *   the tensors in their order, each up to such a multiple
 * </pre>
 * Nothing is allocated by what a count or a length claims: all are held against the bytes that are left, and what is
 * kept of the metadata are its single values and where its arrays lie.
 */
final class GgufHeader {

    static final int MAX_HEADER_BYTES = 100_000_000;
    static final int MAX_KEYS = 1 << 16;
    static final int MAX_TENSORS = 1 << 18;
    /** A key has 65,535 at most by the format, a tensor's name 64; some writers take more of the latter. */
    static final int MAX_NAME_BYTES = 1_024;
    /** Of a single value: chat templates have some ten thousand. */
    static final int MAX_TEXT_BYTES = 1 << 22;
    /** Of a string in an array: tokens and merges. */
    static final int MAX_ELEMENT_BYTES = 1 << 16;

    private static final int MAGIC = 0x46554747;                          // "GGUF"
    private static final String ALIGNMENT = "general.alignment";
    private static final int DEFAULT_ALIGNMENT = 32;
    private static final int MAX_ALIGNMENT = 1 << 20;
    private static final int MAX_DIMENSIONS = 4;
    /** A name of one letter and what follows at least. */
    private static final int LEAST_KEY_BYTES = Long.BYTES + 1 + Integer.BYTES + 1;
    private static final int LEAST_TENSOR_BYTES = Long.BYTES + 1 + 2 * Integer.BYTES + 2 * Long.BYTES;

    private final Path file;
    private final HeaderBytes bytes;
    private final long fileSize;
    private final Map<String, GgufValue> values = new LinkedHashMap<>();
    private final List<Entry> tensors = new ArrayList<>();

    private GgufHeader(Path file, HeaderBytes bytes, long fileSize) {
        this.file = file;
        this.bytes = bytes;
        this.fileSize = fileSize;
    }

    /**
     * @throws WeightFileException if it breaks a rule
     * @throws IOException if it cannot be read
     */
    static GgufHeader read(Path file, FileChannel channel, long fileSize) throws IOException {
        var bytes = new HeaderBytes(file, channel, 0, Math.min(fileSize, MAX_HEADER_BYTES));
        var header = new GgufHeader(file, bytes, fileSize);
        header.read();
        return header;
    }

    /** In the order of the file. */
    Map<String, GgufValue> values() {
        return values;
    }

    /** In the order of the file. */
    List<Entry> tensors() {
        return tensors;
    }

    private void read() throws IOException {
        checkVersion();
        long tensorCount = count("tensors", MAX_TENSORS, LEAST_TENSOR_BYTES);
        long keyCount = count("keys", MAX_KEYS, LEAST_KEY_BYTES);
        for (long i = 0; i < keyCount; i++) {
            readKey();
        }
        place(claims(tensorCount));
    }

    private void checkVersion() throws IOException {
        if (bytes.readInt(HEADER) != MAGIC) {
            throw refused(HEADER, 0, "does not begin with GGUF");
        }
        int version = bytes.readInt(HEADER);
        if (version != 2 && version != 3) {
            throw refused(HEADER, Integer.BYTES, "version %s, takes 2 and 3%s".formatted(
                    Integer.toUnsignedString(version), (version & 0xFFFF) == 0 ? ", little-endian" : ""));
        }
    }

    /** A number of things that follow, of which each takes so many bytes at least. */
    private long count(String things, int most, int leastBytes) throws IOException {
        long at = bytes.position();
        long count = bytes.readLong(HEADER);
        long limit = Math.min(most, bytes.remaining() / leastBytes);
        if (count < 0 || count > limit) {
            throw refused(HEADER, at, "%s %s, takes up to %d here"
                    .formatted(Long.toUnsignedString(count), things, limit));
        }
        return count;
    }

    private void readKey() throws IOException {
        long at = bytes.position();
        String key = text(HEADER, MAX_NAME_BYTES);
        if (values.containsKey(key)) {
            throw refused(WeightFileException.key(key), at, "is there twice");
        }
        values.put(key, value(WeightFileException.key(key)));
    }

    private GgufValue value(String part) throws IOException {
        GgufType type = type(part);
        long at = bytes.position();
        return switch (type) {
            case UINT8 -> new GgufValue.Whole(at, Byte.toUnsignedLong(bytes.readByte(part)));
            case INT8 -> new GgufValue.Whole(at, bytes.readByte(part));
            case UINT16 -> new GgufValue.Whole(at, Short.toUnsignedLong(shortOf(part)));
            case INT16 -> new GgufValue.Whole(at, shortOf(part));
            case UINT32 -> new GgufValue.Whole(at, Integer.toUnsignedLong(bytes.readInt(part)));
            case INT32 -> new GgufValue.Whole(at, bytes.readInt(part));
            case UINT64 -> new GgufValue.Whole(at, unsigned(part, at));
            case INT64 -> new GgufValue.Whole(at, bytes.readLong(part));
            case FLOAT32 -> new GgufValue.Real(at, shortest(Float.intBitsToFloat(bytes.readInt(part))));
            case FLOAT64 -> new GgufValue.Real(at, Double.longBitsToDouble(bytes.readLong(part)));
            case BOOL -> new GgufValue.Flag(at, flag(part, at));
            case STRING -> new GgufValue.Text(at, text(part, MAX_TEXT_BYTES));
            case ARRAY -> array(part);
        };
    }

    private GgufType type(String part) throws IOException {
        long at = bytes.position();
        int number = bytes.readInt(part);
        GgufType type = GgufType.of(number);
        if (type == null) {
            throw refused(part, at, "type %s, takes 0 to 12".formatted(Integer.toUnsignedString(number)));
        }
        return type;
    }

    private short shortOf(String part) throws IOException {
        return (short) (Byte.toUnsignedInt(bytes.readByte(part)) | bytes.readByte(part) << Byte.SIZE);
    }

    private long unsigned(String part, long at) throws IOException {
        long value = bytes.readLong(part);
        if (value < 0) {
            throw refused(part, at, "is %s, past 63 bits".formatted(Long.toUnsignedString(value)));
        }
        return value;
    }

    private static double shortest(float value) {
        return Double.parseDouble(Float.toString(value));
    }

    private boolean flag(String part, long at) throws IOException {
        byte value = bytes.readByte(part);
        if (value != 0 && value != 1) {
            throw refused(part, at, "is %d, takes 0 for false and 1 for true".formatted(value));
        }
        return value == 1;
    }

    /** @param part whose text it is; of a name, the header */
    private String text(String part, int mostBytes) throws IOException {
        long at = bytes.position();
        int length = length(part, mostBytes);
        try {
            var encoded = ByteBuffer.wrap(bytes.readBytes(length, part));
            return StandardCharsets.UTF_8.newDecoder().decode(encoded).toString();
        } catch (CharacterCodingException e) {
            throw refused(part, at + Long.BYTES, "is not UTF-8");
        }
    }

    private int length(String part, int mostBytes) throws IOException {
        long at = bytes.position();
        long length = bytes.readLong(part);
        long limit = Math.min(mostBytes, bytes.remaining());
        if (length < 0 || length > limit) {
            throw refused(part, at, "string of %s bytes, takes up to %d here"
                    .formatted(Long.toUnsignedString(length), limit));
        }
        return (int) length;
    }

    private GgufValue.Array array(String part) throws IOException {
        long at = bytes.position();
        GgufType elements = type(part);
        if (elements == GgufType.ARRAY) {
            throw refused(part, at, "is an array of arrays, which nothing here has a use for");
        }
        long count = bytes.readLong(part);
        long limit = bytes.remaining() / elements.leastBytes;
        if (count < 0 || count > limit) {
            throw refused(part, at, "array of %s elements, takes up to %d here"
                    .formatted(Long.toUnsignedString(count), limit));
        }
        var array = new GgufValue.Array(bytes.position(), elements, (int) count);
        if (elements == GgufType.STRING) {
            for (long i = 0; i < count; i++) {
                bytes.skipBytes(length(part, MAX_ELEMENT_BYTES), part);
            }
        } else {
            bytes.skipBytes(count * elements.leastBytes, part);
        }
        return array;
    }

    private int alignment() {
        return switch (values.get(ALIGNMENT)) {
            case null -> DEFAULT_ALIGNMENT;
            case GgufValue.Whole(_, long value) when Long.bitCount(value) == 1 && value > 0
                    && value <= MAX_ALIGNMENT -> (int) value;
            case GgufValue other -> throw refused(WeightFileException.key(ALIGNMENT), other.offset(),
                    "is no power of two up to %d".formatted(MAX_ALIGNMENT));
        };
    }

    /** A tensor as the header tells it, its place still unchecked. @param at byte where it is told */
    private record Claim(String name, WeightFormat format, List<Integer> shape, long bytes, long offset, long at) {
    }

    private List<Claim> claims(long count) throws IOException {
        List<Claim> claims = new ArrayList<>();
        Set<String> names = new HashSet<>();
        for (long i = 0; i < count; i++) {
            Claim claim = claim();
            if (!names.add(claim.name)) {
                throw refused(WeightFileException.tensor(claim.name), claim.at, "is there twice");
            }
            claims.add(claim);
        }
        return claims;
    }

    private void place(List<Claim> claims) {
        int alignment = alignment();
        long dataStart = aligned(bytes.position(), alignment);
        long expected = 0;
        for (Claim claim : claims) {
            tensors.add(placed(claim, dataStart, expected));
            expected = aligned(expected + claim.bytes, alignment);
        }
        long end = dataStart + expected;                    // the last one's filling may be there, or not
        if (fileSize > end) {
            throw refused(HEADER, end, "%d bytes belong to no tensor".formatted(fileSize - end));
        }
    }

    private Entry placed(Claim claim, long dataStart, long expected) {
        String part = WeightFileException.tensor(claim.name);
        if (claim.offset != expected) {
            throw refused(part, claim.at, "%s: its offset is %s, expected is %d".formatted(
                    claim.offset >= 0 && claim.offset < expected ? "overlaps the tensor before it" : "leaves a hole",
                    Long.toUnsignedString(claim.offset), expected));
        }
        if (claim.bytes > fileSize - dataStart - expected) {
            throw refused(part, claim.at, "takes %d bytes from byte %d on, but the file has %d in all"
                    .formatted(claim.bytes, dataStart + expected, fileSize));
        }
        return new Entry(claim.name, claim.format, claim.shape, dataStart + expected, claim.bytes);
    }

    private Claim claim() throws IOException {
        long at = bytes.position();
        String name = text(HEADER, MAX_NAME_BYTES);
        String part = WeightFileException.tensor(name);
        List<Integer> shape = shape(part);
        long typeAt = bytes.position();
        int type = bytes.readInt(part);
        WeightFormat format = GgufTensorType.format(type);
        if (format == null) {
            throw refused(part, typeAt, "is stored as %s, takes %s".formatted(GgufTensorType.name(type),
                    List.of(WeightFormat.values())));
        }
        long elements = 1;
        for (int dimension : shape) {
            elements = SafetensorsHeader.saturatedProduct(elements, dimension);
        }
        if (!format.isWhole(shape.getLast())) {
            throw refused(part, typeAt, "rows of %d elements end within a block of %s"
                    .formatted(shape.getLast(), format));
        }
        return new Claim(name, format, shape, format.bytes(elements), bytes.readLong(part), at);
    }

    /** Outermost first. */
    private List<Integer> shape(String part) throws IOException {
        long at = bytes.position();
        int dimensions = bytes.readInt(part);
        if (dimensions < 1 || dimensions > MAX_DIMENSIONS) {
            throw refused(part, at, "%s dimensions, takes 1 to %d"
                    .formatted(Integer.toUnsignedString(dimensions), MAX_DIMENSIONS));
        }
        List<Integer> shape = new ArrayList<>();
        for (int i = 0; i < dimensions; i++) {
            long dimension = bytes.readLong(part);
            if (dimension < 1 || dimension > Integer.MAX_VALUE) {
                throw refused(part, bytes.position() - Long.BYTES, "dimension of %s, takes 1 to %d"
                        .formatted(Long.toUnsignedString(dimension), Integer.MAX_VALUE));
            }
            shape.addFirst((int) dimension);
        }
        return shape;
    }

    private static long aligned(long offset, int alignment) {
        return Math.ceilDiv(offset, alignment) * alignment;
    }

    private WeightFileException refused(String part, long offset, String problem) {
        return new WeightFileException(file, part, offset, problem);
    }
}
