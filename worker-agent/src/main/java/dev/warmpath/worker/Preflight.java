package dev.warmpath.worker;

import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.MemoryPlace;
import dev.warmpath.worker.compute.WeightFormat;
import dev.warmpath.worker.model.Footprint;
import dev.warmpath.worker.model.ModelConfig;
import dev.warmpath.worker.model.Quantization;
import dev.warmpath.worker.model.StepSettings;
import dev.warmpath.worker.model.UnsupportedModelException;
import dev.warmpath.worker.model.source.ModelSource;
import dev.warmpath.worker.model.weights.WeightFileException;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * What can be told of a start before a weight is read: whether model, settings and device go together, and what it
 * takes. Whatever does not is collected, so that nobody starts as often as he has made mistakes.
 */
final class Preflight {

    /** Tokens; nobody is served a context below that without having asked for it. */
    static final int LEAST_CONTEXT = 512;
    /** Such a context ends at a number of tokens that a person can remember. */
    private static final int ROUND_TOKENS = 256;
    /** What the heap holds of a sequence for each of its tokens: its id, hashes of its blocks, its block table. */
    private static final int SEQUENCE_BYTES_PER_TOKEN = 8;

    private final ModelProperties model;
    private final List<Problem> problems = new ArrayList<>();
    private final List<String> warnings = new ArrayList<>();
    private @Nullable ModelSource source;
    private @Nullable Ready ready;

    /**
     * What goes together.
     *
     * @param source         where the model lies
     * @param config         with the context that is asked for; if none is, the model's
     * @param isContextGiven whether one is asked for
     * @param quantization   of linear layers
     * @param footprint      of the model on that backend
     */
    record Ready(ModelSource source, ModelConfig config, boolean isContextGiven, Quantization quantization,
            ComputeBackend backend, SchedulerSettings scheduler, StepSettings steps, Footprint footprint) {

        Ready withContextLength(int contextLength) {
            return new Ready(source, config.withContextLength(contextLength), isContextGiven, quantization, backend,
                    scheduler, steps, footprint);
        }

        boolean isOnDevice() {
            return backend.freeMemory().isPresent();
        }

        /** What the heap holds of the model beside its cache, in bytes, sequences of so many tokens included. */
        long heldOnHeap(int contextLength) {
            return footprint.bytes(MemoryPlace.HEAP, contextLength) + source.bytesOnHeap()
                    + (long) scheduler.maxSequences() * contextLength * SEQUENCE_BYTES_PER_TOKEN;
        }

        /** What lies beside the heap, in bytes. */
        long besideHeap(int contextLength) {
            return footprint.bytes(MemoryPlace.NATIVE, contextLength);
        }

        /**
         * The context that is served: the one that is asked for, or else as much of the model's as the cache has room
         * for. Where the cache takes what a device has left it is the model's: that is another number each time, and
         * the context is a part of the revision, in which workers are to agree.
         *
         * @param kv   the cache's size, as far as it is given
         * @param heap with a context of so many tokens
         * @throws SettingsException if there is no room for the least cache
         */
        int fittingContext(KvProperties kv, IntFunction<HeapRoom> heap) {
            int whole = config.contextLength();
            if (isContextGiven || isOnDevice() && kv.isOpen()) {
                return whole;
            }
            int fits = longestContext(kv, heap.apply(whole));
            if (fits < whole) {
                // a shorter one leaves the heap more, and what that has room for is again a little too long
                fits = longestContext(kv, heap.apply(longestContext(kv, heap.apply(fits))));
            }
            return fits == whole || fits < LEAST_CONTEXT ? whole : fits / ROUND_TOKENS * ROUND_TOKENS;
        }

        private int longestContext(KvProperties kv, HeapRoom heap) {
            return CachePlan.longestContext(config, backend, kv, scheduler, heap);
        }

        /** Tokens of the shortest context that {@link #fittingContext} comes to. */
        int leastContext() {
            return isContextGiven ? config.contextLength() : Math.min(config.contextLength(), LEAST_CONTEXT);
        }

        /** That the context is shorter than the model's, a sentence. */
        String shortened(int context) {
            return String.format(Locale.ROOT, "the context is %,d tokens instead of the model's %,d, for so many of "
                    + "one sequence have room in the KV cache; it grows with warmpath.kv.memory, and "
                    + "warmpath.model.context-length demands one", context, config.contextLength());
        }
    }

    private Preflight(ModelProperties model) {
        this.model = model;
    }

    /** Opens the backend, if all else is well; who is given it closes it. */
    static Preflight of(ModelProperties model, KvProperties kv, SchedulerProperties scheduler,
            ComputeProperties compute) {
        var preflight = new Preflight(model);
        ModelCheck files = ModelCheck.of(model.directory());
        preflight.problems.addAll(files.problems());
        preflight.warnings.addAll(files.warnings());
        preflight.source = files.source();
        ModelConfig config = files.config() == null ? null : preflight.capped(files.config());
        ComputeBackend backend = config == null ? null
                : preflight.attempt(() -> new BackendChoice(compute, kv, config).open());
        boolean onDevice = backend != null && backend.freeMemory().isPresent();
        SchedulerSettings settings = preflight.attempt(() -> scheduler.toSettings(onDevice));
        int builtFor = backend == null ? 0 : backend.kernelBlockSize();
        StepSettings steps = settings == null ? null : preflight.attempt(() -> new StepSettings(kv.blockSize(),
                compute.kernelBlockSize(kv.blockSize(), builtFor), settings.maxBatchedTokens(),
                settings.maxSequences(), settings.maxStepsInFlight()));
        if (backend != null) {
            ModelSource source = files.source();
            Footprint footprint = source == null || steps == null ? null
                    : preflight.attempt(() -> Footprint.of(source, config, model.quantization(), backend, steps));
            if (footprint != null && preflight.problems.isEmpty()) {
                preflight.warnIfQuantizedForNothing(config.hiddenSize(), backend);
                preflight.ready = new Ready(source, config, model.contextLength() != null, model.quantization(),
                        backend, settings, steps, footprint);
            } else {
                backend.close();
            }
        }
        return preflight;
    }

    private void warnIfQuantizedForNothing(int width, ComputeBackend backend) {
        if (model.quantization() == Quantization.INT8 && backend.weightBytes(WeightFormat.Q8_0, width, width)
                >= backend.weightBytes(WeightFormat.BF16, width, width)) {
            warnings.add("warmpath.model.quantization is int8, which saves no memory with backend %s: it keeps such "
                    .formatted(backend.name()) + "weights as wide as those of 16 bits");
        }
    }

    private ModelConfig capped(ModelConfig config) {
        Integer cap = model.contextLength();
        if (cap != null && cap > config.contextLength()) {
            problems.add(new Problem("warmpath.model.context-length is " + cap + ", but the model was made for "
                    + config.contextLength() + " tokens", "Lower it, or leave it out to serve all of them"));
        }
        return cap == null ? config : config.withContextLength(Math.min(cap, config.contextLength()));
    }

    /** What may fail for what an operator has said, or for his model. */
    interface Step<T> {
        T take() throws IOException;
    }

    /** @return what the step returns; null if it has failed, which is a problem then */
    <T> @Nullable T attempt(Step<T> step) {
        try {
            return step.take();
        } catch (SettingsException e) {
            problems.addAll(e.problems());
        } catch (UnsupportedModelException e) {
            problems.add(new Problem(e.getMessage(), ""));
        } catch (WeightFileException e) {
            problems.add(new Problem(e.getMessage(), ModelCheck.BROKEN_OFF));
        } catch (ArithmeticException e) {
            problems.add(new Problem(model.directory() + " has sizes past all numbers: " + e.getMessage(), ""));
        } catch (IOException e) {
            problems.add(new Problem(ModelCheck.said(e), ""));
        }
        return null;
    }

    /** @throws SettingsException if there are problems */
    Ready requireReady() {
        if (ready == null) {
            throw new SettingsException(problems);
        }
        return ready;
    }

    List<Problem> problems() {
        return problems;
    }

    List<String> warnings() {
        return warnings;
    }

    /** Null if the model cannot be opened. */
    @Nullable ModelSource source() {
        return source;
    }

    /** Null if there are problems. */
    @Nullable Ready ready() {
        return ready;
    }
}
