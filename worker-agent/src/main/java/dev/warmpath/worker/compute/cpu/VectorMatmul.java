package dev.warmpath.worker.compute.cpu;

import static dev.warmpath.worker.compute.cpu.PanelFormat.COLUMN_BYTES;
import static dev.warmpath.worker.compute.cpu.PanelFormat.VECTOR_BYTES;
import static dev.warmpath.worker.compute.cpu.PanelFormat.WIDTH;
import static dev.warmpath.worker.compute.cpu.VectorMath.LANES;
import static dev.warmpath.worker.compute.cpu.VectorMath.SPECIES;

import java.lang.foreign.MemorySegment;
import java.nio.ByteOrder;
import java.util.Arrays;
import jdk.incubator.vector.FloatVector;

/**
 * x · Wᵀ over the panels of a weight. One row goes through a panel as it lies, widening in registers. Several rows go in
 * tiles of {@value #TILE_ROWS} rows by a panel's vectors through {@value #BLOCK_COLUMNS} columns at a time, widened once
 * for all of them into memory that stays in the caches; an output's chain of additions goes on through memory from block
 * to block. So its bits are the same in a tile, alone and on any thread.
 */
final class VectorMatmul implements ThreadTeam.Task {

    private static final int TILE_ROWS = 4;
    /**
     * Four rows by four vectors take 21 registers. AVX2, the one set of vectors of 256 bits, has 16: two tiles of half
     * the panel are 1.4 times as fast there, and a tenth slower with AVX-512.
     */
    private static final boolean HAS_SIXTEEN_REGISTERS = SPECIES.vectorBitSize() == 256;
    /** Columns of a panel that are gone through by all rows of a unit, a multiple of {@link PanelFormat#GROUP}. */
    private static final int BLOCK_COLUMNS = 128;
    /** Most rows of a unit: enough to make nothing of the widening. */
    private static final int MAX_UNIT_ROWS = 512;
    private static final int MIN_UNIT_ROWS = 16;
    /** Units for each thread below which rows are shared out, too. */
    private static final int UNITS_A_THREAD = 8;
    /** Multiply-adds below which handing out units costs more than it saves. */
    private static final long MIN_SHARED_WORK = 1L << 16;

    private final ThreadTeam team;
    private final Member[] members;
    private PanelWeight weight;
    private float[] x = new float[0];
    private float[] y = new float[0];
    private int depth;
    private int outputs;
    private int rowCount;
    private int unitRows;
    private int unitsPerPanel;

    /** @param widened a block of columns as float32 @param edge sums of a panel with fewer outputs than its width */
    private record Member(MemorySegment widened, float[] edge) {}

    VectorMatmul(ThreadTeam team, PanelMemory memory) {
        this.team = team;
        this.weight = new PanelWeight(0, 0, memory, team);
        this.members = new Member[team.size()];
        Arrays.setAll(members, _ -> new Member(memory.allocate((long) BLOCK_COLUMNS * COLUMN_BYTES),
                new float[MAX_UNIT_ROWS * WIDTH]));
    }

    void multiply(float[] input, PanelWeight by, float[] output, int rows) {
        this.x = input;
        this.weight = by;
        this.y = output;
        this.depth = by.columns();
        this.outputs = by.rows();
        this.rowCount = rows;
        int panels = by.panels.length;
        this.unitRows = Math.min(rows, MAX_UNIT_ROWS);
        while (unitRows > MIN_UNIT_ROWS && panels * Math.ceilDiv(rows, unitRows) < UNITS_A_THREAD * team.size()) {
            unitRows = Math.ceilDiv(unitRows, 2);
        }
        this.unitsPerPanel = Math.ceilDiv(rows, Math.max(1, unitRows));
        team.run(this, unitsPerPanel * panels, (long) rows * depth * outputs < MIN_SHARED_WORK);
    }

    @Override
    public void run(int unit, int member) {
        int panel = unit / unitsPerPanel;
        int firstRow = unit % unitsPerPanel * unitRows;
        int rows = Math.min(unitRows, rowCount - firstRow);
        int firstOutput = panel * WIDTH;
        int width = Math.min(WIDTH, outputs - firstOutput);
        int yStart = firstRow * outputs + firstOutput;
        if (width == WIDTH) {
            multiply(panel, firstRow, rows, y, yStart, outputs, members[member].widened);
        } else {
            float[] edge = members[member].edge;
            multiply(panel, firstRow, rows, edge, 0, WIDTH, members[member].widened);
            for (int row = 0; row < rows; row++) {
                System.arraycopy(edge, row * WIDTH, y, yStart + row * outputs, width);
            }
        }
    }

    private void multiply(int panel, int firstRow, int rows, float[] sums, int start, int stride,
                          MemorySegment widened) {
        if (rows == 1) {
            weight.formats[panel].multiply(weight.panels[panel], depth, x, firstRow * depth, sums, start, widened);
        } else {
            multiplyRows(panel, firstRow, rows, sums, start, stride, widened);
        }
    }

    private void multiplyRows(int panel, int firstRow, int rows, float[] sums, int start, int stride,
                              MemorySegment widened) {
        for (int row = 0; row < rows; row++) {
            Arrays.fill(sums, start + row * stride, start + row * stride + WIDTH, 0);
        }
        PanelFormat format = weight.formats[panel];
        MemorySegment memory = weight.panels[panel];
        for (int column = 0; column < depth; column += BLOCK_COLUMNS) {
            int count = Math.min(BLOCK_COLUMNS, depth - column);
            if (format == PlainPanels.F32) {
                multiplyBlock(memory, (long) column * COLUMN_BYTES, firstRow, rows, column, count, sums, start, stride);
            } else {
                format.widen(memory, column, count, widened);
                multiplyBlock(widened, 0, firstRow, rows, column, count, sums, start, stride);
            }
        }
    }

    /** A tile with fewer rows repeats its last. */
    private void multiplyBlock(MemorySegment w, long wStart, int firstRow, int rows, int column, int count,
                               float[] sums, int start, int stride) {
        for (int row = 0; row < rows; row += TILE_ROWS) {
            int last = rows - 1 - row;
            int xa = (firstRow + row) * depth + column;
            int xb = xa + Math.min(1, last) * depth;
            int xc = xa + Math.min(2, last) * depth;
            int xd = xa + Math.min(3, last) * depth;
            int ya = start + row * stride;
            int yb = ya + Math.min(1, last) * stride;
            int yc = ya + Math.min(2, last) * stride;
            int yd = ya + Math.min(3, last) * stride;
            if (HAS_SIXTEEN_REGISTERS) {
                multiplyHalfTile(w, wStart, count, x, xa, xb, xc, xd, sums, ya, yb, yc, yd);
                int half = 2 * LANES;
                multiplyHalfTile(w, wStart + 2 * VECTOR_BYTES, count, x, xa, xb, xc, xd,
                        sums, ya + half, yb + half, yc + half, yd + half);
            } else {
                multiplyTile(w, wStart, count, x, xa, xb, xc, xd, sums, ya, yb, yc, yd);
            }
        }
    }

    private static void multiplyHalfTile(MemorySegment w, long wStart, int count,
                                         float[] x, int xa, int xb, int xc, int xd,
                                         float[] sums, int ya, int yb, int yc, int yd) {
        var a0 = FloatVector.fromArray(SPECIES, sums, ya);
        var a1 = FloatVector.fromArray(SPECIES, sums, ya + LANES);
        var b0 = FloatVector.fromArray(SPECIES, sums, yb);
        var b1 = FloatVector.fromArray(SPECIES, sums, yb + LANES);
        var c0 = FloatVector.fromArray(SPECIES, sums, yc);
        var c1 = FloatVector.fromArray(SPECIES, sums, yc + LANES);
        var d0 = FloatVector.fromArray(SPECIES, sums, yd);
        var d1 = FloatVector.fromArray(SPECIES, sums, yd + LANES);
        for (int k = 0; k < count; k++) {
            long at = wStart + (long) k * COLUMN_BYTES;
            var w0 = FloatVector.fromMemorySegment(SPECIES, w, at, ByteOrder.nativeOrder());
            var w1 = FloatVector.fromMemorySegment(SPECIES, w, at + VECTOR_BYTES, ByteOrder.nativeOrder());
            var a = FloatVector.broadcast(SPECIES, x[xa + k]);
            a0 = w0.fma(a, a0);
            a1 = w1.fma(a, a1);
            var b = FloatVector.broadcast(SPECIES, x[xb + k]);
            b0 = w0.fma(b, b0);
            b1 = w1.fma(b, b1);
            var c = FloatVector.broadcast(SPECIES, x[xc + k]);
            c0 = w0.fma(c, c0);
            c1 = w1.fma(c, c1);
            var d = FloatVector.broadcast(SPECIES, x[xd + k]);
            d0 = w0.fma(d, d0);
            d1 = w1.fma(d, d1);
        }
        a0.intoArray(sums, ya);
        a1.intoArray(sums, ya + LANES);
        b0.intoArray(sums, yb);
        b1.intoArray(sums, yb + LANES);
        c0.intoArray(sums, yc);
        c1.intoArray(sums, yc + LANES);
        d0.intoArray(sums, yd);
        d1.intoArray(sums, yd + LANES);
    }

    private static void multiplyTile(MemorySegment w, long wStart, int count,
                                     float[] x, int xa, int xb, int xc, int xd,
                                     float[] sums, int ya, int yb, int yc, int yd) {
        var a0 = FloatVector.fromArray(SPECIES, sums, ya);
        var a1 = FloatVector.fromArray(SPECIES, sums, ya + LANES);
        var a2 = FloatVector.fromArray(SPECIES, sums, ya + 2 * LANES);
        var a3 = FloatVector.fromArray(SPECIES, sums, ya + 3 * LANES);
        var b0 = FloatVector.fromArray(SPECIES, sums, yb);
        var b1 = FloatVector.fromArray(SPECIES, sums, yb + LANES);
        var b2 = FloatVector.fromArray(SPECIES, sums, yb + 2 * LANES);
        var b3 = FloatVector.fromArray(SPECIES, sums, yb + 3 * LANES);
        var c0 = FloatVector.fromArray(SPECIES, sums, yc);
        var c1 = FloatVector.fromArray(SPECIES, sums, yc + LANES);
        var c2 = FloatVector.fromArray(SPECIES, sums, yc + 2 * LANES);
        var c3 = FloatVector.fromArray(SPECIES, sums, yc + 3 * LANES);
        var d0 = FloatVector.fromArray(SPECIES, sums, yd);
        var d1 = FloatVector.fromArray(SPECIES, sums, yd + LANES);
        var d2 = FloatVector.fromArray(SPECIES, sums, yd + 2 * LANES);
        var d3 = FloatVector.fromArray(SPECIES, sums, yd + 3 * LANES);
        for (int k = 0; k < count; k++) {
            long at = wStart + (long) k * COLUMN_BYTES;
            var w0 = FloatVector.fromMemorySegment(SPECIES, w, at, ByteOrder.nativeOrder());
            var w1 = FloatVector.fromMemorySegment(SPECIES, w, at + VECTOR_BYTES, ByteOrder.nativeOrder());
            var w2 = FloatVector.fromMemorySegment(SPECIES, w, at + 2 * VECTOR_BYTES, ByteOrder.nativeOrder());
            var w3 = FloatVector.fromMemorySegment(SPECIES, w, at + 3 * VECTOR_BYTES, ByteOrder.nativeOrder());
            var a = FloatVector.broadcast(SPECIES, x[xa + k]);
            a0 = w0.fma(a, a0);
            a1 = w1.fma(a, a1);
            a2 = w2.fma(a, a2);
            a3 = w3.fma(a, a3);
            var b = FloatVector.broadcast(SPECIES, x[xb + k]);
            b0 = w0.fma(b, b0);
            b1 = w1.fma(b, b1);
            b2 = w2.fma(b, b2);
            b3 = w3.fma(b, b3);
            var c = FloatVector.broadcast(SPECIES, x[xc + k]);
            c0 = w0.fma(c, c0);
            c1 = w1.fma(c, c1);
            c2 = w2.fma(c, c2);
            c3 = w3.fma(c, c3);
            var d = FloatVector.broadcast(SPECIES, x[xd + k]);
            d0 = w0.fma(d, d0);
            d1 = w1.fma(d, d1);
            d2 = w2.fma(d, d2);
            d3 = w3.fma(d, d3);
        }
        a0.intoArray(sums, ya);
        a1.intoArray(sums, ya + LANES);
        a2.intoArray(sums, ya + 2 * LANES);
        a3.intoArray(sums, ya + 3 * LANES);
        b0.intoArray(sums, yb);
        b1.intoArray(sums, yb + LANES);
        b2.intoArray(sums, yb + 2 * LANES);
        b3.intoArray(sums, yb + 3 * LANES);
        c0.intoArray(sums, yc);
        c1.intoArray(sums, yc + LANES);
        c2.intoArray(sums, yc + 2 * LANES);
        c3.intoArray(sums, yc + 3 * LANES);
        d0.intoArray(sums, yd);
        d1.intoArray(sums, yd + LANES);
        d2.intoArray(sums, yd + 2 * LANES);
        d3.intoArray(sums, yd + 3 * LANES);
    }
}
