package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.WeightFormat;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Locale;

/**
 * How rows of blocks lie on the card, and rows of bfloat16 that share a weight with them: field by field, as
 * {@code blocks.cuh} draws it. The codes of all blocks come first, 16 bytes of each at least, so that they begin where
 * a lane can read 16 bytes; what blocks have in common follows. The bytes are those of the file in another order, and
 * no more.
 */
enum BlockLayout {
    Q8_0(WeightFormat.Q8_0, new Field(2, 32), new Field(0, 2)),
    Q4_0(WeightFormat.Q4_0, new Field(2, 16), new Field(0, 2)),
    Q4_1(WeightFormat.Q4_1, new Field(4, 16), new Field(0, 4)),
    Q5_0(WeightFormat.Q5_0, new Field(6, 16), new Field(2, 4), new Field(0, 2)),
    Q5_1(WeightFormat.Q5_1, new Field(8, 16), new Field(4, 4), new Field(0, 4)),
    Q4_K(WeightFormat.Q4_K, new Field(16, 128), new Field(0, 16)),
    Q5_K(WeightFormat.Q5_K, new Field(48, 128), new Field(16, 32), new Field(0, 16)),
    Q6_K(WeightFormat.Q6_K, new Field(0, 128), new Field(128, 64), new Field(192, 16), new Field(208, 2)),
    /** What has no blocks, rounded. */
    BF16(WeightFormat.BF16, new Field(0, 2));

    /**
     * Bytes of a block that lie together.
     * @param offset in a block of the file
     * @param bytes  a power of two
     */
    record Field(int offset, int bytes) {
    }

    /** What blocks are gathered from before others are: the file's pages and the caches have them still. */
    private static final int GATHERED_BYTES = 2 << 20;

    private final WeightFormat format;
    private final List<Field> fields;

    BlockLayout(WeightFormat format, Field... fields) {
        this.format = format;
        this.fields = List.of(fields);
    }

    /** Of rows that are stored so. */
    static BlockLayout of(WeightFormat format) {
        return switch (format) {
            case F32, F16, BF16 -> BF16;
            case Q8_0 -> Q8_0;
            case Q4_0 -> Q4_0;
            case Q4_1 -> Q4_1;
            case Q5_0 -> Q5_0;
            case Q5_1 -> Q5_1;
            case Q4_K -> Q4_K;
            case Q5_K -> Q5_K;
            case Q6_K -> Q6_K;
        };
    }

    WeightFormat format() {
        return format;
    }

    /** As kernels are called. */
    String suffix() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * Enqueues a write of whole blocks.
     * @param all    of the part's rows
     * @param first  block of those
     * @param values in the order of the file
     */
    void write(Staging staging, DevicePointer all, long first, MemorySegment values) {
        int blockBytes = format.blockBytes();
        long most = GATHERED_BYTES / blockBytes;
        long count = values.byteSize() / blockBytes;
        for (long done = 0; done < count; done += most) {
            writeFields(staging, all, first + done,
                    values.asSlice(done * blockBytes, Math.min(most, count - done) * blockBytes));
        }
    }

    private void writeFields(Staging staging, DevicePointer all, long first, MemorySegment values) {
        int blockBytes = format.blockBytes();
        long blocks = all.bytes() / blockBytes;
        long count = values.byteSize() / blockBytes;
        long start = 0;
        for (Field field : fields) {
            DevicePointer target = all.plus(start + first * field.bytes, count * field.bytes);
            staging.writeThrough(target, target.bytes(), (offset, part) ->
                    gather(values, offset / field.bytes * blockBytes + field.offset, blockBytes, field.bytes, part));
            start += blocks * field.bytes;
        }
    }

    private static void gather(MemorySegment values, long first, int stride, int bytes, MemorySegment target) {
        for (long at = 0, from = first; at < target.byteSize(); at += bytes, from += stride) {
            MemorySegment.copy(values, from, target, at, bytes);
        }
    }
}
