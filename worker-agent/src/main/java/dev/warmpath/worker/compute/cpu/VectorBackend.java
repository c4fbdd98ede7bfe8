package dev.warmpath.worker.compute.cpu;

import static dev.warmpath.worker.compute.cpu.VectorMath.LANES;
import static dev.warmpath.worker.compute.cpu.VectorMath.SPECIES;

import dev.warmpath.worker.compute.AttentionSpec;
import dev.warmpath.worker.compute.CacheType;
import dev.warmpath.worker.compute.GateActivation;
import dev.warmpath.worker.compute.KvCache;
import dev.warmpath.worker.compute.MemoryPlace;
import dev.warmpath.worker.compute.PagedBatch;
import dev.warmpath.worker.compute.Shapes;
import dev.warmpath.worker.compute.Tensor;
import dev.warmpath.worker.compute.WeightFormat;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.SequencedMap;
import jdk.incubator.vector.FloatVector;
import org.jspecify.annotations.Nullable;

/**
 * The Vector API on {@code threads} threads: the caller and daemon threads of its own. With one thread everything runs
 * in the caller. Needs the C2 compiler: on C1 it is some thirty times slower, and still right.
 */
public final class VectorBackend extends CpuBackend {

    /** Of x in the exponent of {@link GateActivation#GELU_TANH}: 2 √(2/π). */
    private static final float GELU_SLOPE = 1.59576912f;
    /** Likewise of x³. */
    private static final float GELU_CUBE = 0.0713548163f;

    private PanelPlace weights = new PanelMemory();
    private final PanelMemory scratch = new PanelMemory();
    private final VectorMatmul matmul;
    private final VectorAttention attention;
    private final float[] lanes = new float[LANES];

    /** @param threads that compute a step, the caller included; 1 and above */
    public VectorBackend(int threads) {
        this(threads, CacheType.F32);
    }

    /**
     * @param threads   as above
     * @param cacheType of keys and values: F32 or BF16
     */
    public VectorBackend(int threads, CacheType cacheType) {
        super(threads, "warmpath-vector", cacheType, VectorLogitLoops::new);
        this.matmul = new VectorMatmul(team, scratch);
        this.attention = new VectorAttention(team);
    }

    @Override
    public Tensor allocateWeight(int rows, int columns) {
        return new PanelWeight(rows, columns, weights, team);
    }

    @Override
    public long weightBytes(WeightFormat format, int rows, int columns) {
        return PanelFormat.of(format).bytes(PanelFormat.wholeGroups(columns)) * Math.ceilDiv(rows, PanelFormat.WIDTH);
    }

    /** Where files have an owner's rights and are mapped as POSIX says. */
    @Override
    public boolean sharesWeights() {
        return PanelMemory.isOnLinux();
    }

    /** What panels are depends on the width of vectors, too. */
    @Override
    public boolean shareWeights(Path folder, String name) throws IOException {
        if (!sharesWeights()) {
            return false;
        }
        weights.close();
        weights = SharedPanels.open(folder, "%s-%d".formatted(name, SPECIES.vectorBitSize()));
        return true;
    }

    @Override
    public boolean adopt(Tensor weight) {
        return ((PanelWeight) Handles.weight(weight)).adopt();
    }

    @Override
    public void publishWeights() {
        weights.publish();
    }

    @Override
    public void keepWeights() {
        weights.keep();
    }

    @Override
    public MemoryPlace weightPlace() {
        return MemoryPlace.NATIVE;
    }

    @Override
    public String name() {
        return "vector";
    }

    @Override
    public SequencedMap<String, String> details() {
        SequencedMap<String, String> details = new LinkedHashMap<>();
        details.put("vectors", SPECIES.vectorBitSize() + " bits");
        details.put("threads", Integer.toString(team.size()));
        return details;
    }

    @Override
    public void rmsNorm(Tensor input, Tensor weight, float epsilon, Tensor output, int rowCount) {
        Shapes.norm(input, weight, output);
        float[] x = Handles.floats(input, rowCount);
        float[] w = Handles.floats(weight, 1);
        float[] y = Handles.floats(output, rowCount);
        for (int row = 0; row < rowCount; row++) {
            normRow(x, row * input.columns(), w, epsilon, y, input.columns());
        }
    }

    @Override
    public void addRmsNorm(Tensor residual, Tensor addend, Tensor weight, float epsilon, Tensor output, int rowCount) {
        Shapes.norm(addend, weight, output);
        Shapes.norm(residual, weight, output);
        int columns = residual.columns();
        float[] x = Handles.floats(residual, rowCount);
        float[] a = Handles.floats(addend, rowCount);
        float[] w = Handles.floats(weight, 1);
        float[] y = Handles.floats(output, rowCount);
        for (int row = 0; row < rowCount; row++) {
            addRow(x, a, row * columns, columns);
            normRow(x, row * columns, w, epsilon, y, columns);
        }
    }

    private static void addRow(float[] x, float[] addend, int start, int columns) {
        int i = start;
        for (; i <= start + columns - LANES; i += LANES) {
            FloatVector.fromArray(SPECIES, x, i).add(FloatVector.fromArray(SPECIES, addend, i)).intoArray(x, i);
        }
        for (; i < start + columns; i++) {
            x[i] += addend[i];
        }
    }

    private void normRow(float[] x, int start, float[] w, float epsilon, float[] y, int columns) {
        int vectored = columns - columns % LANES;
        var squares = FloatVector.zero(SPECIES);
        for (int i = 0; i < vectored; i += LANES) {
            var v = FloatVector.fromArray(SPECIES, x, start + i);
            squares = v.fma(v, squares);
        }
        float sum = VectorMath.sum(squares, lanes);
        for (int i = vectored; i < columns; i++) {
            sum = Math.fma(x[start + i], x[start + i], sum);
        }
        float scale = (float) (1 / Math.sqrt(sum / columns + epsilon));
        for (int i = 0; i < vectored; i += LANES) {
            FloatVector.fromArray(SPECIES, x, start + i).mul(scale).mul(FloatVector.fromArray(SPECIES, w, i))
                    .intoArray(y, start + i);
        }
        for (int i = vectored; i < columns; i++) {
            y[start + i] = x[start + i] * scale * w[i];
        }
    }

    @Override
    public void matmul(Tensor input, Tensor weight, Tensor output, int rowCount) {
        Shapes.matmul(input, weight, output);
        float[] x = Handles.floats(input, rowCount);
        float[] y = Handles.floats(output, rowCount);
        matmul.multiply(x, (PanelWeight) Handles.weight(weight), y, rowCount);
    }

    @Override
    public void pagedAttention(Tensor qkv, AttentionSpec spec, @Nullable Tensor sinks, PagedBatch batch, KvCache cache,
                               int layer, Tensor output) {
        int queryHeads = Shapes.queryHeads(qkv, cache.shape());
        Shapes.attention(queryHeads, cache.shape(), spec, sinks, output);
        Shapes.rows(qkv, batch.tokenCount());
        Shapes.rows(output, batch.tokenCount());
        attention.attend(Handles.tensor(qkv), spec, sinks == null ? null : Handles.floats(sinks, 1), batch,
                (CpuKvCache) cache, layer, Handles.tensor(output));
    }

    @Override
    public void gate(Tensor gateUp, GateActivation activation, Tensor output, int rowCount) {
        Shapes.gate(gateUp, output);
        int columns = output.columns();
        float[] x = Handles.floats(gateUp, rowCount);
        float[] y = Handles.floats(output, rowCount);
        for (int row = 0; row < rowCount; row++) {
            switch (activation) {
                case SILU -> siluRow(x, 2 * row * columns, y, row * columns, columns);
                case GELU_TANH -> geluRow(x, 2 * row * columns, y, row * columns, columns);
            }
        }
    }

    private static void siluRow(float[] x, int gate, float[] y, int output, int columns) {
        for (int i = 0; i < columns; i += LANES) {
            var inRow = SPECIES.indexInRange(i, columns);
            var g = FloatVector.fromArray(SPECIES, x, gate + i, inRow);
            var u = FloatVector.fromArray(SPECIES, x, gate + columns + i, inRow);
            g.div(VectorMath.exp(g.neg()).add(1f)).mul(u).intoArray(y, output + i, inRow);
        }
    }

    private static void geluRow(float[] x, int gate, float[] y, int output, int columns) {
        for (int i = 0; i < columns; i += LANES) {
            var inRow = SPECIES.indexInRange(i, columns);
            var g = FloatVector.fromArray(SPECIES, x, gate + i, inRow);
            var u = FloatVector.fromArray(SPECIES, x, gate + columns + i, inRow);
            var exponent = g.mul(g).mul(GELU_CUBE).add(GELU_SLOPE).mul(g);
            g.div(VectorMath.exp(exponent.neg()).add(1f)).mul(u).intoArray(y, output + i, inRow);
        }
    }

    @Override
    public void softCap(Tensor logits, float cap, int rowCount) {
        Shapes.softCap(logits, cap, rowCount);
        float[] values = Handles.floats(logits, rowCount);
        int end = rowCount * logits.columns();
        for (int i = 0; i < end; i += LANES) {
            var inRows = SPECIES.indexInRange(i, end);
            VectorMath.tanh(FloatVector.fromArray(SPECIES, values, i, inRows).div(cap)).mul(cap)
                    .intoArray(values, i, inRows);
        }
    }

    @Override
    public void close() {
        super.close();
        weights.close();
        scratch.close();
    }
}
