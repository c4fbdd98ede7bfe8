package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.compute.cpu.ScalarBackend;
import dev.warmpath.worker.model.LoadedModel;
import dev.warmpath.worker.model.ModelConfig;
import dev.warmpath.worker.model.source.ModelSource;
import dev.warmpath.worker.routerlink.RouterLinkProperties;
import jakarta.validation.Validation;
import jakarta.validation.Validator;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.mock.env.MockEnvironment;

/** The model that ships, on a device that has too little memory, or more than the heap has. */
@ExtendWith(OutputCaptureExtension.class)
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

    @Test
    void a_pool_that_the_heap_cuts_short_is_a_warning_with_the_flag_and_one_that_it_does_not_is_none(
            CapturedOutput log) throws IOException {
        ComputeBackend petabyte = device(1L << 50);
        configuration.cachePlan(load(petabyte), KV, SCHEDULER.toSettings(false), petabyte);
        assertThat(log.getOut()).containsPattern("WARN .*the device would hold \\d+ blocks more, but books on them "
                + "would take more than a quarter of the heap: start this worker with a larger -Xmx than \\d+ MB");

        int before = log.getOut().length();
        ComputeBackend small = device(16 << 20);
        configuration.cachePlan(load(small), KV, SCHEDULER.toSettings(false), small);
        assertThat(log.getOut().substring(before)).contains("of the device's 16,777,216 bytes 16,777,216 are free")
                .doesNotContain("WARN");
    }

    @Test
    void a_port_that_others_reach_needs_the_fleets_token() {
        for (String open : List.of("server.address", "management.server.address")) {
            var environment = new MockEnvironment().withProperty("server.address", "127.0.0.1")
                    .withProperty("management.server.address", "127.0.0.1").withProperty(open, "0.0.0.0");

            assertThatThrownBy(() -> configuration.fleetToken(withToken(null), environment))
                    .isInstanceOf(SettingsException.class).hasMessageContainingAll(
                            open + " is 0.0.0.0, open to the network", "Set warmpath.fleet.token", "bind to 127.0.0.1");
            assertThat(configuration.fleetToken(withToken("hush"), environment).isNone()).isFalse();
        }
    }

    private static RouterLinkProperties withToken(@Nullable String token) {
        return new RouterLinkProperties(List.of(), token, null, Duration.ofSeconds(1), Duration.ZERO);
    }

    /** As {@code RegistrationCheck} of a router has them: what it would refuse ends the start, before weights are read. */
    @Test
    void a_worker_takes_no_id_that_routers_refuse() {
        try (var factory = Validation.buildDefaultValidatorFactory()) {
            Validator validator = factory.getValidator();
            Predicate<String> isTaken = id ->
                    validator.validate(new WorkerProperties(id, URI.create("http://127.0.0.1:1"))).isEmpty();

            assertThat(List.of("w", "worker-0", "gpu_1.rack2", "7", "a".repeat(128))).allMatch(isTaken);
            assertThat(List.of("", "gpu:0", "a/b", "-a", ".a", "a b", "w\n", "é", "a".repeat(129))).noneMatch(isTaken);
        }
    }

    @Test
    void the_context_is_capped_by_a_setting_and_never_stretched() throws IOException {
        assertThat(modelConfig(capped(100)).contextLength()).isEqualTo(100);
        assertThat(modelConfig(capped(2_048))).isEqualTo(modelConfig(MODEL));
        assertThatThrownBy(() -> modelConfig(capped(2_049))).isInstanceOf(SettingsException.class)
                .hasMessage("warmpath.model.context-length is 2049, but the model was made for 2048 tokens. "
                        + "Lower it, or leave it out to serve all of them");
    }

    private static ModelProperties capped(int contextLength) {
        return new ModelProperties(MODEL.directory(), null, contextLength, null);
    }

    private ModelConfig modelConfig(ModelProperties model) throws IOException {
        return configuration.modelConfig(model, configuration.modelSource(model));
    }

    private LoadedModel load(ComputeBackend backend) throws IOException {
        ModelSource source = configuration.modelSource(MODEL);
        return configuration.loadedModel(source, configuration.modelConfig(MODEL, source), KV,
                SCHEDULER.toSettings(false), bind("compute", ComputeProperties.class), backend);
    }

    private static ComputeBackend withoutMemoryFor(String call) {
        return processorsExcept(Map.of(call, () -> {
            throw new ComputeException(SHORTAGE);
        }));
    }

    /** What has so much memory of its own, all of it free. */
    private static ComputeBackend device(long memory) {
        return processorsExcept(Map.of("freeMemory", () -> OptionalLong.of(memory),
                "totalMemory", () -> OptionalLong.of(memory)));
    }

    private static ComputeBackend processorsExcept(Map<String, Supplier<Object>> answers) {
        var backend = new ScalarBackend();
        return (ComputeBackend) Proxy.newProxyInstance(WorkerConfigurationTest.class.getClassLoader(),
                new Class<?>[] {ComputeBackend.class}, (_, method, arguments) -> {
                    Supplier<Object> answer = answers.get(method.getName());
                    return answer != null ? answer.get() : method.invoke(backend, arguments);
                });
    }

    private static <T> T bind(String capability, Class<T> type) {
        return new Binder(new MapConfigurationPropertySource(
                Map.of("warmpath.model.directory", "../models/warmpath-tiny")))
                .bindOrCreate("warmpath." + capability, type);
    }
}
