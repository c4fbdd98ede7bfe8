package dev.warmpath.worker.compute;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.OptionalLong;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;

/**
 * A device that computes steps of a model. This is the whole seam: everything above it is plain bookkeeping, everything
 * below it may be a processor or a GPU.
 *
 * <p><b>Queue.</b> Operations are <em>enqueued</em> and take effect in the order of the calls; a backend may run them
 * at once, later, or replay them as a captured graph, where {@link #repeat} says that they come again.
 * {@link #submit} ends a step, {@link #await} waits for it and
 * brings the drawn tokens back, and nothing else. Several steps may be outstanding, each with {@link SampledTokens} of
 * its own; they are awaited in the order in which they were submitted. A step may take tokens that the one before it
 * drew without waiting for them ({@link #feedTokens}).
 * <pre>
 *   write inputs → feedTokens → embed
 *                → per layer: norm, matmul, rotateAndStoreKv, pagedAttention, matmul, norm, matmul, gate, matmul
 *                → gatherRows → norm → matmul (head) → [score] → sample
 *                → where a prompt is scored, in portions: gatherRows → norm → matmul (head) → score
 *                → submit ⇢ await
 * </pre>
 * <b>Memory.</b> Tensors are allocated when a model is loaded, for its largest step, and reused: operations get how
 * many of their leading rows count now ({@code rowCount}); later rows keep unspecified content. Nothing is allocated
 * per step. Host values cross as {@link MemorySegment}, never as arrays; they are read before the call returns.
 *
 * <p><b>Rows are independent.</b> On processors a row of a result depends on nothing but its own inputs, bit for bit:
 * not on the other rows, their number, block size or threads. On a GPU it may differ in the last bits.
 *
 * <p><b>Errors.</b> Wrong shapes, types or foreign handles are {@link IllegalArgumentException} at the call. Whatever
 * an operation or {@link #submit} throws, the step ends with it: what was enqueued for it has run or never will. What
 * the device finds out is {@link ComputeException}, at the call or at {@link #await}; it belongs to that step alone, the
 * others that are outstanding can be awaited as before. A device that is gone is {@link DeviceLostException}, of this
 * step and of all others. One thread uses a backend at a time.
 */
public interface ComputeBackend extends AutoCloseable {

    /** Short name for logs and metrics, such as {@code scalar}. */
    String name();

    /** What it computes with, for people to compare: such as its {@code card}, and the {@code toolkit} of its kernels. */
    default SequencedMap<String, String> details() {
        return new LinkedHashMap<>();
    }

    /** The type in which this backend wants the activations of a model; logits are always F32. */
    DataType activationType();

    /**
     * Tells a model that this backend has no kernels for, before its weights are read.
     * @param queryHeadCount a multiple of the shape's KV heads
     * @param turnedElements of a head, leading, in its layers of this kind; 0 is none
     * @param attention      of one kind of its layers; asked once for each kind
     * @param widths         elements of the model's other rows: hidden state, feed-forward layer
     * @return what is missing, a clause with the value and what kernels take; null if nothing is
     */
    @Nullable String lack(CacheShape shape, int queryHeadCount, int turnedElements, AttentionSpec attention,
            int... widths);

    // ---- memory

    /** A tensor of zeros that lives until the backend is closed. */
    Tensor allocate(DataType type, int rows, int columns);

    /**
     * A weight matrix [rows, columns] of zeros, to be filled by {@link #upload} and read by {@link #matmul} and
     * {@link #embed} only: type and layout on the device are the backend's choice.
     */
    Tensor allocateWeight(int rows, int columns);

    /**
     * Likewise, of rows whose formats are known before: a device may then keep them as they come, and {@link #upload}
     * brings each in the format that was said.
     * @param rows from the first one on
     */
    default Tensor allocateWeight(int columns, List<StoredRows> rows) {
        return allocateWeight(rows.stream().mapToInt(StoredRows::count).sum(), columns);
    }

    /** Bytes at {@link #weightPlace} that such a weight needs beside itself, once for all weights that do. */
    default long bytesBesideWeights(List<StoredRows> rows) {
        return 0;
    }

    /**
     * Bytes that rows of a weight take when they have been uploaded, told before anything is allocated; a little more
     * where rows of several uploads share what devices take at once.
     */
    long weightBytes(WeightFormat format, int rows, int columns);

    /** Where those bytes lie. Other tensors lie on the device, if it has memory of its own, or else on the heap. */
    MemoryPlace weightPlace();

    /**
     * Fills rows of a weight matrix; consecutive rows may come from different sources, as in fused projections.
     * @param format of the values; rows are whole blocks
     * @param values [rowCount, columns], row-major, any alignment
     */
    void upload(Tensor weight, int firstRow, int rowCount, WeightFormat format, MemorySegment values);

    /** Whether {@link #shareWeights} can share anything. */
    default boolean sharesWeights() {
        return false;
    }

    /**
     * Has weights lie in a file that processes of this host share. The first of them fills it, and the others wait for
     * that, to {@link #adopt} what they would have uploaded. To be called before a weight is allocated.
     * @param folder of such files, made if it is not there
     * @param name   of all that weights follow from: files, what is made of them, the order in which they are allocated
     * @return false if it cannot: weights are this process's own
     * @throws IOException likewise, because of that folder
     */
    default boolean shareWeights(Path folder, String name) throws IOException {
        return false;
    }

    /**
     * Takes over what another process has uploaded to this weight. Weights are asked for in the order in which they
     * were allocated, each before the next one is.
     * @return false if all rows have to be uploaded
     */
    default boolean adopt(Tensor weight) {
        return false;
    }

    /** All rows of all weights are uploaded: other processes may have them. */
    default void publishWeights() {}

    /** Instead of {@link #publishWeights}: nobody else gets them, and who has waited for them uploads his own. */
    default void keepWeights() {}

    /**
     * A zeroed paged cache. Blocks of its host tier are undefined until they are copied to.
     * @param blockCount     blocks, the null block 0 included
     * @param hostBlockCount blocks of its host tier, which only {@link #copyBlocks} reaches; 0 is none
     * @throws ComputeException if the device or the host cannot hold it, or the backend has no host tier
     */
    KvCache allocateKvCache(CacheShape shape, int blockCount, int hostBlockCount);

    /** Blocks of the largest cache of that shape that can be addressed, whatever memory there is. */
    int mostBlocks(CacheShape shape);

    /** Device memory that one block takes, keys and values of all layers. */
    long bytesPerBlock(CacheShape shape);

    /** Element type of the keys and values in this backend's caches. */
    CacheType cacheType();

    /** The one size of cache blocks, in tokens, that the kernels of this backend are built for; 0 if they take any. */
    int kernelBlockSize();

    /** Bytes of device memory that nobody holds now; empty if a cache lies on the heap of this JVM. */
    OptionalLong freeMemory();

    /** Bytes of device memory in all; empty where {@link #freeMemory} is. */
    OptionalLong totalMemory();

    /**
     * Bytes of {@link #freeMemory} that a cache of that shape must leave: what is allocated together with it, and what
     * device and libraries take by themselves once steps run. 0 if a cache lies on the heap of this JVM.
     * @param hostBlockCount blocks of its host tier, 0 is none
     */
    long bytesBesideCache(CacheShape shape, int hostBlockCount);

    /**
     * Enqueues a write of the leading elements of {@code target}.
     * @param values elements of the target's type; the size says how many
     */
    void write(Tensor target, MemorySegment values);

    /** Waits for everything enqueued and copies the leading rows out, for tests and diagnosis. Not for weights. */
    void read(Tensor source, int rowCount, MemorySegment values);

    // ---- operations of a step, in the order in which a decoder needs them

    /**
     * Fills in tokens that were drawn on the device and are not known to the host yet: {@code tokens[r] =
     * drawn[sources[r]]} where {@code sources[r]} is 0 or above; other rows stay. {@link SampledTokens#NO_TOKEN} and
     * {@link SampledTokens#MASKED} feed token 0: what is computed from it will be thrown away.
     * @param drawn   of a step submitted before; may be the one that this step samples into
     * @param sources I32 [≥ rowCount, 1]; rows of {@code drawn}, which the caller has checked, or negative
     * @param tokens  I32 [≥ rowCount, 1]
     */
    void feedTokens(SampledTokens drawn, Tensor sources, Tensor tokens, int rowCount);

    /**
     * Looks rows up: {@code hidden[r] = table[tokens[r]]}.
     * @param tokens I32 [≥ rowCount, 1]; ids below the table's rows, which the caller has checked
     * @param table  weight [vocabulary, hidden]
     * @param hidden activations [≥ rowCount, hidden]
     */
    void embed(Tensor tokens, Tensor table, Tensor hidden, int rowCount);

    /**
     * Root-mean-square norm: {@code output = input / sqrt(mean(input²) + epsilon) * weight}, row by row.
     * @param weight F32 [1, columns]
     * @param output may be the input
     */
    void rmsNorm(Tensor input, Tensor weight, float epsilon, Tensor output, int rowCount);

    /**
     * Adds {@code addend} to {@code residual} in place, then norms the sum into {@code output} as {@link #rmsNorm}
     * does.
     */
    void addRmsNorm(Tensor residual, Tensor addend, Tensor weight, float epsilon, Tensor output, int rowCount);

    /**
     * {@code output = input · weightᵀ}, summed in float32 or wider.
     * @param input  [≥ rowCount, k]
     * @param weight weight [n, k]
     * @param output [≥ rowCount, n], not the input
     */
    void matmul(Tensor input, Tensor weight, Tensor output, int rowCount);

    /**
     * Finishes queries and keys as the spec says and puts keys and values into the paged cache. A rotation pairs element
     * i with i + turned / 2 (Hugging Face's {@code rotate_half}): (a, b) → (a cos − b sin, b cos + a sin).
     * @param qkv    [≥ tokenCount, (queryHeads + 2 · kvHeads) · headSize]: queries, keys, values; queries are finished
     *               in place, the keys' and values' columns are undefined afterwards
     * @throws ComputeException if the device rejects the launch; the cache content of these slots is then undefined
     */
    void rotateAndStoreKv(Tensor qkv, QkvSpec spec, PagedBatch batch, KvCache cache, int layer);

    /** Likewise, where heads are turned and nothing else. @param rotary see {@link QkvSpec#rotary} */
    default void rotateAndStoreKv(Tensor qkv, Tensor rotary, PagedBatch batch, KvCache cache, int layer) {
        rotateAndStoreKv(qkv, QkvSpec.turned(rotary), batch, cache, layer);
    }

    /**
     * Causal attention of each token over the cached positions that the spec lets it see, up to and including its own,
     * which {@link #rotateAndStoreKv} has stored before. Query heads share key/value heads in consecutive groups of
     * equal size. Keys and values are read through the block tables; what lies at positions that no token of the batch
     * sees is not read, whatever block the table names there.
     * @param qkv    queries in the leading columns, as {@link #rotateAndStoreKv} leaves them
     * @param sinks  F32 [1, queryHeads], there exactly if the spec says so
     * @param output [≥ tokenCount, queryHeads · headSize]
     */
    void pagedAttention(Tensor qkv, AttentionSpec spec, @Nullable Tensor sinks, PagedBatch batch, KvCache cache,
                        int layer, Tensor output);

    /**
     * {@code output = activation(gate) * up}.
     * @param gateUp [≥ rowCount, 2 · n]: gate, then up
     * @param output [≥ rowCount, n]
     */
    void gate(Tensor gateUp, GateActivation activation, Tensor output, int rowCount);

    /** Multiplies rows of the activations' type in place. */
    void scale(Tensor rows, float factor, int rowCount);

    /**
     * Bounds logits in place: {@code x = cap · tanh(x / cap)}.
     * @param logits F32
     * @param cap    above 0
     */
    void softCap(Tensor logits, float cap, int rowCount);

    /** Indexes are read from places that are multiples of this: devices want 16 bytes together. */
    int INDEX_STEP = 4;

    /**
     * {@code output[r] = input[rowIndexes[firstIndex + r]]}.
     * @param rowIndexes I32 [≥ firstIndex + rowCount, 1]
     * @param firstIndex a multiple of {@link #INDEX_STEP}
     */
    void gatherRows(Tensor input, Tensor rowIndexes, int firstIndex, Tensor output, int rowCount);

    /** The same from the first index on. */
    default void gatherRows(Tensor input, Tensor rowIndexes, Tensor output, int rowCount) {
        gatherRows(input, rowIndexes, 0, output, rowCount);
    }

    /**
     * Tells how likely tokens are, by rows of logits, which stay: so before {@link #sample} or {@link #sampleAdjusted}.
     * @param logits   F32 [≥ rowCount, vocabulary]
     * @param inputs   of row r of the logits at {@code firstRow + r}
     * @param output   likewise
     * @param rowCount 0 and above
     */
    void score(Tensor logits, ScoreInputs inputs, ScoredTokens output, int firstRow, int rowCount);

    /**
     * Draws one token per row by the rule of {@link Sampling}. Unusable logits draw {@link SampledTokens#NO_TOKEN}.
     * @param logits F32 [≥ rowCount, vocabulary]
     */
    void sample(Tensor logits, SamplingInputs inputs, SampledTokens output, int rowCount);

    /**
     * The same where some rows are adjusted before: step 0 of the rule. Rows left with nothing to draw from draw
     * {@link SampledTokens#MASKED}. A step without such rows takes {@link #sample}, which costs less.
     * @param logits F32 [≥ rowCount, vocabulary]; adjusted rows are unspecified afterwards
     * @param before what rows with a source have to count yet: of a step submitted before, not where this one samples
     *               into unless no row has a source
     */
    void sampleAdjusted(Tensor logits, SamplingInputs inputs, LogitAdjustments adjustments, SampledTokens before,
                        SampledTokens output, int rowCount);

    /**
     * Copies whole blocks, keys and values of all layers, bit for bit and pair after pair: a block may be the target
     * of one pair and the source of the next.
     * @param mapping ids of the device, or from 0 of the host tier, as the direction says
     * @throws IllegalArgumentException if there is no such block; nothing is copied then
     * @throws ComputeException if the cache has no host tier and the direction needs one
     */
    void copyBlocks(KvCache cache, BlockMapping mapping, CopyDirection direction);

    // ---- steps

    /**
     * Enqueues operations that come again in other steps, each over all rows of the batch. Whenever the recording is the
     * same, so are they, in their order, with the same tensors, specs and widths of block tables; only the number of
     * rows and what lies in the tensors differ. So a backend need not be told twice: it may enqueue what it has kept, or
     * replay it as a graph, without running {@code operations}.
     * @param batch in which they attend, if they do; of a cache with several groups, the first
     */
    default void repeat(Recording recording, PagedBatch batch, Runnable operations) {
        operations.run();
    }

    /**
     * Step sizes of which each is prepared for when it first comes, and kept: a warm-up lets all of them come. Empty
     * where nothing is prepared.
     * @param maxTokens the most of a step
     * @return tokens of a prompt that is computed at once, ascending
     */
    default int[] prefillSizes(int maxTokens) {
        return new int[0];
    }

    /**
     * Likewise.
     * @param maxSequences the most of a step
     * @return sequences that each compute one token, ascending
     */
    default int[] decodeSizes(int maxSequences) {
        return new int[0];
    }

    /** How often a step could not be captured or replayed as a graph since the start; 0 where there are no graphs. */
    default long refusedGraphs() {
        return 0;
    }

    /**
     * Ends the step: everything enqueued since the last one.
     * @param sampled     what the step drew; belongs to the step until it has been awaited
     * @param rowCount    tokens to bring back, may be 0
     * @param scored      what the step tells of likelihoods; belongs to it as {@code sampled} does, with which it comes
     *                    and goes. Null: nothing
     * @param scoredCount rows of it to bring back; 0 costs nothing
     * @throws IllegalStateException if {@code sampled} belongs to a step that has not been awaited
     */
    Completion submit(SampledTokens sampled, int rowCount, @Nullable ScoredTokens scored, int scoredCount);

    /** Likewise, of a step that tells nothing of likelihoods. */
    default Completion submit(SampledTokens sampled, int rowCount) {
        return submit(sampled, rowCount, null, 0);
    }

    /**
     * Waits for the oldest outstanding step and fills {@code output}. It is over then, whether it failed or not.
     * @throws ComputeException if anything in the step failed; {@code output} is then empty. Unusable logits are their row's
     *                          own affair, see {@link StepOutput#isUsable}
     * @throws IllegalArgumentException if {@code output} is too small; the step stays outstanding
     * @throws IllegalStateException    if the step is not the oldest outstanding one
     */
    void await(Completion completion, StepOutput output);

    /** Frees every tensor and cache; handles are dead afterwards. Closing again does nothing. */
    @Override
    void close();
}
