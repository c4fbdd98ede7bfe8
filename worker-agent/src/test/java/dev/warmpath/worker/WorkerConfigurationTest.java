package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.compute.cpu.ScalarBackend;
import dev.warmpath.worker.model.LoadedModel;
import dev.warmpath.worker.model.ModelConfig;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

/** The model that ships, on a device that runs out of memory. */
class WorkerConfigurationTest {

    private static final String SHORTAGE = "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2), 8,388,608 bytes for it; "
            + "1,048,576 of 1,073,741,824 bytes are free";
    private static final ModelProperties MODEL = bind("model", ModelProperties.class);
    private static final KvProperties KV = bind("kv", KvProperties.class);
    private static final SchedulerProperties SCHEDULER = bind("scheduler", SchedulerProperties.class);

    private final WorkerConfiguration configuration = new WorkerConfiguration();

    @Test
    void weights_that_do_not_fit_end_the_start_with_the_sizes_and_what_to_do() {
        assertThatThrownBy(() -> load(withoutMemoryFor("allocateWeight"))).isInstanceOf(SettingsException.class)
                .hasMessage("the device does not take the model's weights and what steps need: " + SHORTAGE
                        + ". Where memory is short, end what else runs there, lower "
                        + "warmpath.scheduler.max-num-batched-tokens, or compute on processors by "
                        + "warmpath.compute.backend=vector");
    }

    @Test
    void a_cache_that_does_not_fit_ends_the_start_with_the_sizes_and_what_to_do() throws IOException {
        ComputeBackend backend = withoutMemoryFor("allocateKvCache");
        LoadedModel model = load(backend);
        CachePlan plan = configuration.cachePlan(model, KV, SCHEDULER.toSettings(false), backend);

        assertThatThrownBy(() -> configuration.modelRunner(model, plan)).isInstanceOf(SettingsException.class)
                .hasMessage("there is no memory for the KV cache or its swap space: " + SHORTAGE
                        + ". Give the cache less by warmpath.kv.memory; if it is the host that refuses, lower "
                        + "warmpath.kv.swap-space or let the process lock more memory (ulimit -l)");
    }

    private LoadedModel load(ComputeBackend backend) throws IOException {
        ModelConfig config = configuration.modelConfig(MODEL);
        return configuration.loadedModel(MODEL, config, KV, SCHEDULER.toSettings(false),
                bind("compute", ComputeProperties.class), backend);
    }

    private static ComputeBackend withoutMemoryFor(String call) {
        var backend = new ScalarBackend();
        return (ComputeBackend) Proxy.newProxyInstance(WorkerConfigurationTest.class.getClassLoader(),
                new Class<?>[] {ComputeBackend.class}, (_, method, arguments) -> {
                    if (method.getName().equals(call)) {
                        throw new ComputeException(SHORTAGE);
                    }
                    try {
                        return method.invoke(backend, arguments);
                    } catch (InvocationTargetException thrown) {
                        throw thrown.getCause();
                    }
                });
    }

    private static <T> T bind(String capability, Class<T> type) {
        return new Binder(new MapConfigurationPropertySource(
                Map.of("warmpath.model.directory", "../models/warmpath-tiny")))
                .bindOrCreate("warmpath." + capability, type);
    }
}
