package dev.warmpath.worker;

import dev.warmpath.protocol.fleet.Ability;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.process.ProcessEnd;
import dev.warmpath.redislink.RedisProperties;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.engine.Engine;
import dev.warmpath.worker.engine.EngineLoop;
import dev.warmpath.worker.engine.RequestIntake;
import dev.warmpath.worker.engine.StepHangsException;
import dev.warmpath.worker.generate.Outbox;
import dev.warmpath.worker.kvcache.KvCacheManager;
import dev.warmpath.worker.kvcache.KvCacheSettings;
import dev.warmpath.worker.metrics.ServedModel;
import dev.warmpath.worker.model.EosTokens;
import dev.warmpath.worker.model.LoadedModel;
import dev.warmpath.worker.model.ModelConfig;
import dev.warmpath.worker.model.ModelRunner;
import dev.warmpath.worker.model.Quantization;
import dev.warmpath.worker.model.source.ModelSource;
import dev.warmpath.worker.poolfeed.PoolRoutes;
import dev.warmpath.worker.routerlink.KvEventPublisher;
import dev.warmpath.worker.routerlink.ModelFiles;
import dev.warmpath.worker.scheduler.RequestLimits;
import dev.warmpath.worker.scheduler.Scheduler;
import dev.warmpath.worker.scheduler.SchedulerSettings;
import java.io.IOException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.DependsOn;
import org.springframework.core.env.Environment;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.ServerResponse;

/** A worker that computes the model itself. */
@Configuration(proxyBeanMethods = false)
@OnOwnEngine
class OwnEngineConfiguration {

    private static final Logger log = LoggerFactory.getLogger(OwnEngineConfiguration.class);
    /** Nothing that the end would wait for comes any more: routers are told, and that is all. */
    private static final Duration GRACE_AFTER_HANGING = Duration.ofSeconds(5);

    /**
     * What contradicts itself is told before weights are read, all of it; the log has the rest. The context is then the
     * one that is served. Who may not listen need not read a model.
     */
    @Bean
    @DependsOn("fleetToken")
    Preflight.Ready preflight(ModelProperties model, KvProperties kv, SchedulerProperties scheduler,
            ComputeProperties compute) {
        Preflight preflight = Preflight.of(model, kv, scheduler, compute);
        preflight.warnings().forEach(log::warn);
        Preflight.Ready start = preflight.requireReady();
        try {
            int context = start.fittingContext(kv, tokens -> heap(start, tokens));
            if (context < start.config().contextLength()) {
                log.warn(start.shortened(context));
            }
            Preflight.Ready served = start.withContextLength(context);
            requireMemory(served, plan(served, kv), Machine.memory());
            return served;
        } catch (SettingsException refused) {
            start.backend().close();
            throw refused;
        }
    }

    @Bean
    ModelSource modelSource(Preflight.Ready start) {
        return start.source();
    }

    @Bean
    ModelConfig modelConfig(Preflight.Ready start) {
        return start.config();
    }

    @Bean
    ComputeBackend computeBackend(Preflight.Ready start) {
        return start.backend();
    }

    /** What the operator leaves open is as it suits a device of its own, or processors. */
    @Bean
    SchedulerSettings schedulerSettings(Preflight.Ready start) {
        return start.scheduler();
    }

    /** Weights and what steps need. */
    @Bean
    LoadedModel loadedModel(Preflight.Ready start, ModelProperties model) throws IOException {
        SharedWeights shared = model.sharedWeights() == null ? null : SharedWeights.use(model.sharedWeights(), start);
        var progress = new ReadingProgress("weights", start.footprint().fileBytes(), System::nanoTime);
        try {
            LoadedModel loaded = LoadedModel.load(start.source(), start.config(), start.quantization(),
                    start.backend(), start.steps(), progress::add);
            if (shared != null) {
                shared.publish();
            }
            return loaded;
        } catch (ComputeException refused) {
            throw new SettingsException("the device does not take the model's weights and what steps need: "
                    + refused.getMessage(), "Where memory is short, end what else runs there, lower "
                    + "warmpath.scheduler.max-num-batched-tokens, or compute on processors by "
                    + "warmpath.compute.backend=vector", refused);
        }
    }

    /** Made once more when the model is loaded: a device knows then what it has left. */
    @Bean
    @DependsOn("loadedModel")
    CachePlan cachePlan(Preflight.Ready start, KvProperties kv) {
        CachePlan plan = plan(start, kv);
        log.info("KV cache: {}", plan.arithmetic());
        if (plan.leftOver() > 0) {
            log.warn("the device would hold {} blocks more, but books on them would take more than a quarter of the "
                    + "heap: start this worker with a larger -Xmx than {} MB", plan.leftOver(),
                    Runtime.getRuntime().maxMemory() >> 20);
        }
        if (plan.cache().hostBlockCount() > 0) {
            log.info("swap space: {} holds {} blocks", kv.swapSpace(), plan.cache().hostBlockCount());
        }
        return plan;
    }

    private static CachePlan plan(Preflight.Ready start, KvProperties kv) {
        return CachePlan.of(start.config(), start.backend(), kv, start.scheduler(),
                heap(start, start.config().contextLength()));
    }

    private static HeapRoom heap(Preflight.Ready start, int contextLength) {
        return start.isOnDevice() ? HeapRoom.forBooks() : HeapRoom.ofThisJvm(start.heldOnHeap(contextLength));
    }

    /** A heap may be promised that the machine does not have. */
    static void requireMemory(Preflight.Ready start, CachePlan plan, long machineBytes) {
        int context = start.config().contextLength();
        long onHeap = start.heldOnHeap(context)
                + (start.isOnDevice() ? plan.bookBytes() : plan.size().bytes()) + HeapRoom.LEAST_SLACK;
        long needed = onHeap + start.besideHeap(context);
        if (needed > machineBytes) {
            throw new SettingsException(String.format(Locale.ROOT, "this machine, or the container, has %s, which is "
                    + "%s too little: %s for the heap with the KV cache, %s beside it for weights",
                    Megabytes.text(machineBytes), Megabytes.text(needed - machineBytes), Megabytes.text(onHeap),
                    Megabytes.text(start.besideHeap(context))),
                    "Give it more, lower warmpath.kv.memory, or take a smaller model");
        }
    }

    /** Closes the backend, and with it the device, when the context closes. */
    @Bean
    ModelRunner modelRunner(LoadedModel model, CachePlan plan) {
        try {
            return model.withCache(plan.cache().blockCount(), plan.cache().hostBlockCount());
        } catch (ComputeException refused) {
            throw new SettingsException("there is no memory for the KV cache or its swap space: "
                    + refused.getMessage(), "Give the cache less by warmpath.kv.memory; if it is the host that refuses,"
                    + " lower warmpath.kv.swap-space or let the process lock more memory (ulimit -l)", refused);
        }
    }

    @Bean
    ModelFiles modelFiles(ModelProperties model, ModelSource source, KvProperties kv, ModelRunner runner)
            throws IOException {
        ModelConfig config = runner.config();
        return ModelFiles.read(source.weightFiles(), changeOf(model.quantization()),
                ModelFileResources.of(source), model.digestCache(),
                model.servedName(), kv.hashSettings(), config.contextLength(), config.vocabularySize());
    }

    private static String changeOf(Quantization quantization) {
        return quantization == Quantization.NONE ? ModelFiles.UNCHANGED
                : quantization.name().toLowerCase(Locale.ROOT);
    }

    @Bean
    Engine engine(ModelSource source, KvProperties kv, CachePlan plan, SchedulerSettings settings,
            ComputeProperties compute, ModelRunner runner, KvEventPublisher publisher, Outbox outbox)
            throws IOException {
        ModelConfig config = runner.config();
        var cache = new KvCacheManager(plan.cache());
        var limits = new RequestLimits(config.vocabularySize(), config.contextLength(), plan.cache(),
                settings.mostTokensInFlight());
        var scheduler = new Scheduler(settings, limits, cache);
        var loop = new EngineLoop(scheduler, cache, runner, publisher::publish, outbox::send, System::nanoTime);
        var intake = new RequestIntake(
                publisher.epoch(), kv.hashSettings(), limits, EosTokens.read(source), settings.policy());
        return new Engine(loop, intake, System::nanoTime, compute.longestStep(), OwnEngineConfiguration::engineBroke)
                .start();
    }

    /** An engine whose books are wrong, or whose device is lost or hangs, must not answer anybody. */
    private static void engineBroke(Throwable cause) {
        boolean hangs = cause instanceof StepHangsException;
        ProcessEnd.afterError("the engine broke, this worker ends", cause,
                hangs ? GRACE_AFTER_HANGING : ProcessEnd.GRACE_AFTER_ERROR);
    }

    /** Readiness: while the device hangs, this worker should get nothing. */
    @Bean("engineMoves")
    HealthIndicator engineMoves(Engine engine) {
        return () -> (engine.isHanging() ? Health.outOfService() : Health.up())
                .withDetail("stepAgeMillis", Duration.ofNanos(engine.snapshot().stepAgeNanos()).toMillis()).build();
    }

    @Bean
    ServedModel servedModel(ModelProperties model, LoadedModel loaded, KvProperties kv, CachePlan plan,
            ComputeBackend backend) {
        KvCacheSettings cache = plan.cache();
        return new ServedModel(model.servedName(), loaded.config().contextLength(), loaded.loadTime(),
                cache.blockSize(), cache.blockCount(), kv.blockCount(), cache.hostBlockCount(),
                plan.size().bytesPerBlock(), backend.cacheType().label(),
                kv.memoryUtilizationOrDefault(), kv.swapSpace().toBytes(), cache.prefixCaching(),
                kv.hashSettings().algorithm());
    }

    @Bean
    PoolRoutes pool(Engine engine, KvEventPublisher publisher, Preflight.Ready start, SchedulerSettings scheduler,
            EngineProperties properties, Environment environment) {
        return new PoolRoutes(engine, publisher.workerId(), publisher.epoch(), notStepped(properties.stepping(),
                environment.getProperty("server.address"), start.isOnDevice(), scheduler.steps()));
    }

    /**
     * Why nobody may hold the engine and step it by hand, or null.
     *
     * @param allowed null: where this worker can be reached from this machine alone
     */
    static @Nullable String notStepped(@Nullable Boolean allowed, @Nullable String address, boolean onDevice,
            int stepsPerDecision) {
        if (!Objects.requireNonNullElseGet(allowed, () -> FleetToken.NONE.allowsBinding(address))) {
            return "this worker is not to be stepped by hand: warmpath.engine.stepping=true would allow it";
        }
        if (onDevice) {
            return "this worker computes on a card, whose steps are not taken one by one: "
                    + "with warmpath.compute.backend=vector it computes on processors";
        }
        return stepsPerDecision == 1 ? null : "this worker decides on " + stepsPerDecision
                + " steps at once, which are not taken one by one: set warmpath.scheduler.scheduler-steps to 1";
    }

    @Bean
    RouterFunction<ServerResponse> poolRoutes(PoolRoutes pool) {
        return pool.routes();
    }

    @Bean
    WorkerEngine workerEngine(Engine engine, ModelRunner runner, ComputeProperties compute) {
        return new OwnEngine(engine, runner, compute.warmUp());
    }

    @Bean
    Registration registration(WorkerProperties worker, CachePlan plan, SchedulerSettings scheduler, ModelFiles model,
            KvEventPublisher publisher, RedisProperties redis) {
        var registration = new Registration(Protocol.VERSION, worker.id(), publisher.epoch(), worker.baseUrl(),
                model.description(), plan.cache().blockCount() - 1, scheduler.maxSequences(), true).withPackedPrompts()
                        .withAbilities(EnumSet.allOf(Ability.class));
        return redis.isSet() ? registration.withEventStreams(redis.eventStreams()) : registration;
    }
}
