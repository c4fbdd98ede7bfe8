package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.compute.cpu.ScalarBackend;
import dev.warmpath.worker.model.Footprint;
import dev.warmpath.worker.model.LoadedModel;
import dev.warmpath.worker.model.ModelConfig;
import dev.warmpath.worker.model.StepSettings;
import dev.warmpath.worker.model.source.ModelSource;
import dev.warmpath.worker.routerlink.RouterLinkProperties;
import dev.warmpath.worker.model.Quantization;
import jakarta.validation.Validation;
import jakarta.validation.Validator;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Proxy;
import java.net.URI;
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
import org.springframework.util.unit.DataSize;

/** The model that ships, on a device that has too little memory, or more than the heap has. */
@ExtendWith(OutputCaptureExtension.class)
class OwnEngineConfigurationTest {

    private static final String SHORTAGE = "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2), 8,388,608 bytes for it; "
            + "1,048,576 of 1,073,741,824 bytes are free";
    private static final ModelProperties MODEL = bind("model", ModelProperties.class);
    private static final KvProperties KV = bind("kv", KvProperties.class);
    private static final SchedulerProperties SCHEDULER = bind("scheduler", SchedulerProperties.class);
    private static final ComputeProperties SCALAR = bind("compute", ComputeProperties.class);

    private final OwnEngineConfiguration configuration = new OwnEngineConfiguration();

    @Test
    void an_engine_is_stepped_by_hand_on_processors_and_where_nobody_else_reaches_it_or_it_is_allowed() {
        assertThat(OwnEngineConfiguration.notStepped(null, "127.0.0.1", false, 1)).isNull();
        assertThat(OwnEngineConfiguration.notStepped(true, "0.0.0.0", false, 1)).isNull();
        for (String open : new String[] {"0.0.0.0", "", null}) {
            assertThat(OwnEngineConfiguration.notStepped(null, open, false, 1))
                    .contains("warmpath.engine.stepping=true would allow it");
        }
        assertThat(OwnEngineConfiguration.notStepped(false, "127.0.0.1", false, 1)).contains("not to be stepped");
        assertThat(OwnEngineConfiguration.notStepped(null, "::1", /* onDevice */ true, 1))
                .contains("computes on a card");
        assertThat(OwnEngineConfiguration.notStepped(null, "127.0.0.1", false, 4)).contains("decides on 4 steps");
    }

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
        CachePlan plan = configuration.cachePlan(ready(backend), KV);

        assertThatThrownBy(() -> configuration.modelRunner(model, plan)).isInstanceOf(SettingsException.class)
                .hasMessage("there is no memory for the KV cache or its swap space: " + SHORTAGE
                        + ". Give the cache less by warmpath.kv.memory; if it is the host that refuses, lower "
                        + "warmpath.kv.swap-space or let the process lock more memory (ulimit -l)");
    }

    @Test
    void a_pool_that_the_heap_cuts_short_is_a_warning_with_the_flag_and_one_that_it_does_not_is_none(
            CapturedOutput log) throws IOException {
        configuration.cachePlan(ready(device(1L << 50)), KV);
        assertThat(log.getOut()).containsPattern("WARN .*the device would hold \\d+ blocks more, but books on them "
                + "would take more than a quarter of the heap: start this worker with a larger -Xmx than \\d+ MB");

        int before = log.getOut().length();
        configuration.cachePlan(ready(device(16 << 20)), KV);
        assertThat(log.getOut().substring(before)).contains("of the device's 16,777,216 bytes 16,777,216 are free")
                .doesNotContain("WARN");
    }

    @Test
    void a_port_that_others_reach_needs_the_fleets_token() {
        for (String open : List.of("server.address", "management.server.address")) {
            var environment = new MockEnvironment().withProperty("server.address", "127.0.0.1")
                    .withProperty("management.server.address", "127.0.0.1").withProperty(open, "0.0.0.0");

            assertThatThrownBy(() -> new WorkerConfiguration().fleetToken(withToken(null), environment))
                    .isInstanceOf(SettingsException.class).hasMessageContainingAll(
                            open + " is 0.0.0.0, open to the network", "Set warmpath.fleet.token", "bind to 127.0.0.1");
            assertThat(new WorkerConfiguration().fleetToken(withToken("hush"), environment).isNone()).isFalse();
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
    void a_context_that_nobody_has_asked_for_is_as_long_as_the_cache_has_room_for_and_the_log_says_so(
            CapturedOutput log) {
        assertThat(contextWith(null, KV)).isEqualTo(2_048);
        assertThat(contextWith(100, KV)).isEqualTo(100);
        assertThat(log.getOut()).doesNotContain("the context is");
        KvProperties small = KV.withMemory(DataSize.ofMegabytes(5));

        // 96 blocks, one of which holds no token: 1,520 tokens, and of these a round number
        assertThat(contextWith(null, small)).isEqualTo(1_280);
        assertThat(log.getOut()).containsPattern("WARN .*the context is 1,280 tokens instead of the model's 2,048");
        assertThat(contextWith(1_520, small)).isEqualTo(1_520);
        assertThatThrownBy(() -> contextWith(1_521, small)).isInstanceOf(SettingsException.class).hasMessageContaining(
                "1,521 tokens needs 97, the null block included; 1,520 tokens would fit");
    }

    @Test
    void a_cache_with_room_for_no_useful_context_ends_the_start() {
        KvProperties tiny = KV.withMemory(DataSize.ofMegabytes(1));

        assertThatThrownBy(() -> contextWith(null, tiny)).isInstanceOf(SettingsException.class).hasMessageContaining(
                "the pool has 19 blocks of 16 tokens, but one sequence of the model's whole context of 2,048 tokens "
                        + "needs 129, the null block included; 288 tokens would fit");
    }

    @Test
    void a_heap_that_the_machine_does_not_have_is_refused_with_what_is_missing() {
        try (var backend = new ScalarBackend()) {
            Preflight.Ready start = ready(backend);
            CachePlan plan = configuration.cachePlan(start, KV);

            OwnEngineConfiguration.requireMemory(start, plan, 1 << 30);
            assertThatThrownBy(() -> OwnEngineConfiguration.requireMemory(start, plan, 128 << 20))
                    .isInstanceOf(SettingsException.class)
                    .hasMessageContaining("this machine, or the container, has 128 MB, which is ")
                    .hasMessageEndingWith("Give it more, lower warmpath.kv.memory, or take a smaller model");
        }
    }

    private int contextWith(@Nullable Integer contextLength, KvProperties kv) {
        Preflight.Ready start = configuration.preflight(
                new ModelProperties(MODEL.directory(), null, contextLength, Quantization.NONE, null, null), kv,
                SCHEDULER, SCALAR);
        start.backend().close();
        return start.config().contextLength();
    }

    private LoadedModel load(ComputeBackend backend) throws IOException {
        return configuration.loadedModel(ready(backend), MODEL);
    }

    private static Preflight.Ready ready(ComputeBackend backend) {
        try {
            ModelSource source = ModelSource.of(MODEL.directory());
            ModelConfig config = ModelConfig.read(source);
            var scheduler = SCHEDULER.toSettings(false);
            var steps = new StepSettings(KV.blockSize(), KV.blockSize(), scheduler.maxBatchedTokens(),
                    scheduler.maxSequences(), scheduler.maxStepsInFlight());
            return new Preflight.Ready(source, config, false, Quantization.NONE, backend, scheduler, steps,
                    Footprint.of(source, config, Quantization.NONE, backend, steps));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static ComputeBackend withoutMemoryFor(String call) {
        return processorsExcept(Map.of(call, () -> {
            throw new ComputeException(SHORTAGE);
        }));
    }

    /** What has so much memory of its own, all of it free. */
    private static ComputeBackend device(long memory) {
        return processorsExcept(Map.of("freeMemory", () -> OptionalLong.of(memory),
                "totalMemory", () -> OptionalLong.of(memory), "mostBlocks", () -> Integer.MAX_VALUE));
    }

    private static ComputeBackend processorsExcept(Map<String, Supplier<Object>> answers) {
        var backend = new ScalarBackend();
        return (ComputeBackend) Proxy.newProxyInstance(OwnEngineConfigurationTest.class.getClassLoader(),
                new Class<?>[] {ComputeBackend.class}, (_, method, arguments) -> {
                    Supplier<Object> answer = answers.get(method.getName());
                    return answer != null ? answer.get() : method.invoke(backend, arguments);
                });
    }

    private static <T> T bind(String capability, Class<T> type) {
        return new Binder(new MapConfigurationPropertySource(
                Map.of("warmpath.model.directory", "../models/warmpath-tiny", "warmpath.compute.backend", "scalar")))
                .bindOrCreate("warmpath." + capability, type);
    }
}
