package dev.warmpath.worker;

import static dev.warmpath.protocol.generate.StopConditions.pastTheEnd;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.worker.compute.CacheShape;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.cuda.CudaBackends;
import dev.warmpath.worker.compute.cuda.OnEmulatedDevice;
import dev.warmpath.worker.compute.cuda.WithCompiledKernels;
import dev.warmpath.worker.engine.Engine;
import dev.warmpath.worker.engine.GenerationListener;
import dev.warmpath.worker.metrics.ServedModel;
import dev.warmpath.worker.model.Golden;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;

/** A whole worker that finds a device, the emulated one: what it says, how it sizes its pool, and an answer. */
@OnEmulatedDevice
@WithCompiledKernels
@ExtendWith(OutputCaptureExtension.class)
class CudaWorkerTest {

    private static final class Answer implements GenerationListener {

        private final List<Integer> tokens = new ArrayList<>();
        private final CompletableFuture<List<Integer>> end = new CompletableFuture<>();

        @Override
        public void onToken(int token, float logprob) {
            tokens.add(token);
        }

        @Override
        public void onFinished(FinishReason reason, Usage usage) {
            end.complete(tokens);
        }

        @Override
        public void onFailed(FailureReason reason, String message) {
            end.completeExceptionally(new AssertionError(message));
        }
    }

    private static ConfigurableApplicationContext start(Path driver, String... settings) {
        List<String> arguments = new ArrayList<>(List.of(settings));
        arguments.addAll(List.of("--server.port=0", "--management.server.port=0", "--warmpath.worker.id=w",
                "--warmpath.worker.base-url=http://127.0.0.1:1",
                "--warmpath.compute.longest-step=1h",
                "--warmpath.model.directory=../models/warmpath-tiny", "--warmpath.compute.warm-up=0s",
                "--warmpath.compute.cuda.driver=" + driver, "--warmpath.compute.cuda.cublas-lt=" + driver,
                "--warmpath.scheduler.max-num-batched-tokens=512", "--warmpath.scheduler.max-num-seqs=64",
                "--warmpath.kv.cache-dtype=fp8"));
        return new SpringApplicationBuilder(WorkerApplication.class).run(arguments.toArray(String[]::new));
    }

    @Test
    void a_worker_computes_on_the_device_it_finds_and_sizes_its_pool_from_what_the_model_leaves(CapturedOutput log)
            throws Exception {
        Path driver = CudaBackends.emulatedDriver();
        try (var context = start(driver, "--warmpath.kv.memory-utilization=0.03")) {
            assertThat(context.getBean(ComputeBackend.class).name()).isEqualTo("cuda");
            assertThat(context.getBean(SchedulerSettings.class).asyncScheduling()).isTrue();
            assertThat(context.getBean(ServedModel.class).elementType()).isEqualTo("fp8_e4m3");
            // 1 GiB less 7 MB of weights in two bytes each, activations, what the backend keeps, and 256 MiB beside
            assertThat(context.getBean(CachePlan.class).size().memoryBytes()).isBetween(594L << 20, 761L << 20);
            CachePlan plan = context.getBean(CachePlan.class);
            assertThat(plan.size().bytesPerBlock()).isEqualTo(13_824).isEqualTo(
                    context.getBean(ComputeBackend.class).bytesPerBlock(new CacheShape(6, 2, 32, 16)));
            assertThat(log.getOut().lines().filter(line -> line.contains("computing on "))).hasSize(1);
            assertThat(log.getOut()).contains("KV cache: 2 (keys, values) x 16 tokens x 2 heads x (32 elements x 1 "
                    + "bytes + 4 bytes of scale) x 6 layers = 13,824 bytes a block; of the device's 1,073,741,824 "
                    + "bytes ");

            Golden.Prompt prompt = Golden.read().prompts().get(1);
            var answer = new Answer();
            context.getBean(Engine.class).submit(GenerateRequest.of("r", prompt.tokens().clone(),
                    SamplingParameters.GREEDY, pastTheEnd(4)), answer);
            assertThat(answer.end.get()).hasSize(4).startsWith(prompt.greedy()[0]);
        }
    }

    @Test
    void a_worker_that_may_take_all_the_device_has_left_starts_and_answers() throws Exception {
        Path driver = CudaBackends.emulatedDriver(/* devices */ 1, 450L << 20);
        try (var context = start(driver, "--warmpath.kv.memory-utilization=1", "--warmpath.kv.swap-space=40MB")) {
            ComputeBackend backend = context.getBean(ComputeBackend.class);
            assertThat(context.getBean(CachePlan.class).size().bytes()).isGreaterThan(16L << 20);
            assertThat(backend.freeMemory().orElseThrow()).as("left to driver and libraries")
                    .isBetween(255L << 20, 257L << 20);

            var answer = new Answer();
            context.getBean(Engine.class).submit(GenerateRequest.of("r", new int[] {1, 2, 3},
                    SamplingParameters.GREEDY, pastTheEnd(1)), answer);
            assertThat(answer.end.get()).hasSize(1);
        }
    }
}
