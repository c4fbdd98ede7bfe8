package dev.warmpath.worker.compute.cpu;

import static dev.warmpath.worker.compute.cpu.VectorMath.LANES;
import static dev.warmpath.worker.compute.cpu.VectorMath.SPECIES;

import jdk.incubator.vector.FloatVector;

/**
 * x · Wᵀ in register tiles of {@value #TILE_ROWS} rows by two vectors of outputs. Lanes run over outputs, so each
 * output is one chain of fused multiply-adds in the order of k: the same bits in a tile, in the single-row loop and on
 * any thread.
 */
final class VectorMatmul implements ThreadTeam.Task {

    static final int PANEL_WIDTH = 2 * LANES;
    private static final int TILE_ROWS = 4;
    /** Rows of a unit: few enough to share work out, enough to reuse a panel while it is in the first-level cache. */
    private static final int UNIT_ROWS = 64;
    /** Multiply-adds below which waking threads costs more than it saves (some 20 µs on one thread). */
    private static final long MIN_SHARED_WORK = 1L << 20;

    private final ThreadTeam team;
    private float[] x = new float[0];
    private float[] panels = new float[0];
    private float[] y = new float[0];
    private int depth;
    private int outputs;
    private int rowCount;
    private int unitsPerPanel;

    VectorMatmul(ThreadTeam team) {
        this.team = team;
    }

    void multiply(float[] input, CpuWeight weight, float[] output, int rows) {
        this.x = input;
        this.panels = weight.panels;
        this.y = output;
        this.depth = weight.columns();
        this.outputs = weight.rows();
        this.rowCount = rows;
        this.unitsPerPanel = Math.ceilDiv(rows, UNIT_ROWS);
        boolean alone = (long) rows * depth * outputs < MIN_SHARED_WORK;
        team.run(this, unitsPerPanel * Math.ceilDiv(outputs, PANEL_WIDTH), alone);
    }

    @Override
    public void run(int unit, int member) {
        int panel = unit / unitsPerPanel;
        int row = unit % unitsPerPanel * UNIT_ROWS;
        int end = Math.min(row + UNIT_ROWS, rowCount);
        int panelStart = panel * PANEL_WIDTH * depth;
        int firstOutput = panel * PANEL_WIDTH;
        for (; row + TILE_ROWS <= end; row += TILE_ROWS) {
            multiplyTile(x, row * depth, depth, panels, panelStart, y, row * outputs + firstOutput, outputs,
                    outputs - firstOutput);
        }
        for (; row < end; row++) {
            multiplyRow(x, row * depth, depth, panels, panelStart, y, row * outputs + firstOutput,
                    outputs - firstOutput);
        }
    }

    private static void multiplyTile(float[] x, int x0, int depth, float[] panel, int panelStart,
                                     float[] y, int y0, int stride, int width) {
        var a0 = FloatVector.zero(SPECIES);
        var a1 = a0;
        var b0 = a0;
        var b1 = a0;
        var c0 = a0;
        var c1 = a0;
        var d0 = a0;
        var d1 = a0;
        int x1 = x0 + depth;
        int x2 = x1 + depth;
        int x3 = x2 + depth;
        for (int k = 0; k < depth; k++) {
            var w0 = FloatVector.fromArray(SPECIES, panel, panelStart + k * PANEL_WIDTH);
            var w1 = FloatVector.fromArray(SPECIES, panel, panelStart + k * PANEL_WIDTH + LANES);
            var a = FloatVector.broadcast(SPECIES, x[x0 + k]);
            a0 = w0.fma(a, a0);
            a1 = w1.fma(a, a1);
            var b = FloatVector.broadcast(SPECIES, x[x1 + k]);
            b0 = w0.fma(b, b0);
            b1 = w1.fma(b, b1);
            var c = FloatVector.broadcast(SPECIES, x[x2 + k]);
            c0 = w0.fma(c, c0);
            c1 = w1.fma(c, c1);
            var d = FloatVector.broadcast(SPECIES, x[x3 + k]);
            d0 = w0.fma(d, d0);
            d1 = w1.fma(d, d1);
        }
        VectorMath.storeUpTo(width, a0, a1, y, y0);
        VectorMath.storeUpTo(width, b0, b1, y, y0 + stride);
        VectorMath.storeUpTo(width, c0, c1, y, y0 + 2 * stride);
        VectorMath.storeUpTo(width, d0, d1, y, y0 + 3 * stride);
    }

    private static void multiplyRow(float[] x, int x0, int depth, float[] panel, int panelStart,
                                    float[] y, int y0, int width) {
        var a0 = FloatVector.zero(SPECIES);
        var a1 = a0;
        for (int k = 0; k < depth; k++) {
            var a = FloatVector.broadcast(SPECIES, x[x0 + k]);
            a0 = FloatVector.fromArray(SPECIES, panel, panelStart + k * PANEL_WIDTH).fma(a, a0);
            a1 = FloatVector.fromArray(SPECIES, panel, panelStart + k * PANEL_WIDTH + LANES).fma(a, a1);
        }
        VectorMath.storeUpTo(width, a0, a1, y, y0);
    }
}
