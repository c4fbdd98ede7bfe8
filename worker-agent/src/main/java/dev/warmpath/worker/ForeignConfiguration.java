package dev.warmpath.worker;

import dev.warmpath.process.BeginAnew;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.redislink.RedisProperties;
import dev.warmpath.tokenization.Spelling;
import dev.warmpath.worker.foreign.generate.EngineFacts;
import dev.warmpath.worker.foreign.generate.EngineLink;
import dev.warmpath.worker.foreign.generate.EngineProbe;
import dev.warmpath.worker.foreign.generate.ForeignEngine;
import dev.warmpath.worker.foreign.generate.FoundEngine;
import dev.warmpath.worker.foreign.generate.UnsuitableEngineException;
import dev.warmpath.worker.generate.Outbox;
import dev.warmpath.worker.poolfeed.PoolRoutes;
import dev.warmpath.worker.routerlink.KvEventPublisher;
import dev.warmpath.worker.routerlink.ModelFiles;
import java.io.IOException;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.actuate.info.InfoContributor;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.DependsOn;
import org.springframework.util.function.SingletonSupplier;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.ServerResponse;

/** A worker that stands beside an engine of somebody else's. */
@Configuration(proxyBeanMethods = false)
@Conditional(OnForeignEngine.class)
class ForeignConfiguration {

    private static final Logger log = LoggerFactory.getLogger(ForeignConfiguration.class);
    private static final Duration LOOK_AGAIN = Duration.ofSeconds(1);
    private static final Duration TELL_AGAIN = Duration.ofSeconds(10);

    @Bean
    EngineLink engineLink(EngineProperties engine) {
        return link(engine);
    }

    /** @throws SettingsException if its address is none */
    static EngineLink link(EngineProperties engine) {
        try {
            return new EngineLink(Objects.requireNonNull(engine.url()), engine.apiKey(), engine.model(), engine.rank(),
                    engine.maxNumSeqs(), engine.mostInFlight(), engine.connectTimeout(), engine.firstTokenTimeout(),
                    engine.tokenTimeout(), engine.pollInterval());
        } catch (IllegalArgumentException e) {
            throw new SettingsException("warmpath.engine.url cannot be used: " + e.getMessage(),
                    "Give one such as http://127.0.0.1:8000");
        }
    }

    /** Waits for it: both may be started at the same time, and an engine's model takes long to load. */
    @Bean
    @DependsOn("fleetToken")
    FoundEngine foundEngine(EngineLink link, EngineProperties engine, ModelProperties model)
            throws InterruptedException {
        Thread waiting = Thread.currentThread();
        // the end of the process waits for this thread, which would wait for the engine
        Thread onEnd = Thread.ofPlatform().unstarted(waiting::interrupt);
        Runtime.getRuntime().addShutdownHook(onEnd);
        try {
            return await(link, engine, SingletonSupplier.of(() -> ForeignModel.spelling(model)));
        } finally {
            removeHook(onEnd);
        }
    }

    private static void removeHook(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            log.debug("the process ends already", e);
        }
    }

    private static FoundEngine await(EngineLink link, EngineProperties engine, Supplier<Spelling> spelling)
            throws InterruptedException {
        long start = System.nanoTime();
        long told = start - TELL_AGAIN.toNanos();
        while (true) {
            try {
                FoundEngine found = EngineProbe.connect(link, Objects.requireNonNull(engine.kind().foreign), spelling);
                log.info("beside an engine at {}: {}", link.address(), found.facts());
                return found;
            } catch (UnsuitableEngineException e) {
                throw new SettingsException(e.getMessage(), "docs/engines.md has what it must be started with");
            } catch (IOException e) {
                long now = System.nanoTime();
                if (now - start > engine.startTimeout().toNanos()) {
                    throw new SettingsException("the engine at " + link.address() + " does not answer: "
                            + e.getMessage(), "Start it, or set warmpath.engine.url to where it is");
                }
                if (now - told >= TELL_AGAIN.toNanos()) {
                    told = now;
                    log.info("waiting for the engine at {}: {}", link.address(), e.toString());
                }
                Thread.sleep(LOOK_AGAIN);
            }
        }
    }

    @Bean
    ModelFiles modelFiles(ModelProperties model, KvProperties kv, EngineProperties engine, EngineLink link,
            FoundEngine found) throws IOException, InterruptedException {
        ModelFiles files = ForeignModel.read(model, kv, found.facts());
        if (engine.compareTokens()) {
            ForeignTokenizer.requireSame(link, found, model.directory());
        }
        return files;
    }

    /** Of an engine that is another one, nothing is so any more that routers were told: this worker begins anew. */
    @Bean
    ForeignEngine foreignEngine(EngineLink link, FoundEngine found, ModelFiles files, KvEventPublisher publisher,
            EngineEvents events, Outbox outbox, ApplicationEventPublisher process) {
        return new ForeignEngine(link, found, files.description().contextLength(),
                files.description().vocabularySize(), publisher::epoch, events.cache(), outbox::send,
                events::engineRestarted, () -> process.publishEvent(new BeginAnew(this))).start();
    }

    @Bean
    EngineEvents engineEvents(EngineProperties engine, KvProperties kv, FoundEngine found,
            KvEventPublisher publisher) {
        return EngineEvents.follow(engine, found.facts(), ForeignModel.hashSettings(kv, found.facts()), publisher);
    }

    @Bean
    ForeignMeters foreignMeters(ForeignEngine engine, EngineEvents events, FoundEngine found) {
        return new ForeignMeters(engine, events, found.facts().kind());
    }

    /** {@code model} and {@code engine} in {@code /actuator/info}. */
    @Bean
    InfoContributor engineInfo(FoundEngine found, ModelFiles files) {
        EngineFacts facts = found.facts();
        return info -> info.withDetail("model", Map.of("name", files.description().name(),
                        "revision", files.description().revision(),
                        "contextLength", files.description().contextLength()))
                .withDetail("engine", Map.of("kind", facts.kind().name().toLowerCase(Locale.ROOT),
                        "version", Objects.requireNonNullElse(facts.version(), "unknown"), "model", facts.model()));
    }

    @Bean
    RouterFunction<ServerResponse> noPoolRoutes() {
        return PoolRoutes.ofNone();
    }

    @Bean
    WorkerEngine workerEngine(ForeignEngine engine, Registration registration) {
        return new EngineBeside(engine, registration.blockCount());
    }

    /** Readiness: while it does not answer, this worker should get nothing. */
    @Bean("engineMoves")
    HealthIndicator engineMoves(ForeignEngine engine) {
        return () -> (engine.load().answers() ? Health.up() : Health.outOfService()).build();
    }

    @Bean
    Registration registration(WorkerProperties worker, ModelFiles model, EngineLink link, FoundEngine found,
            EngineEvents events, KvEventPublisher publisher, RedisProperties redis) {
        var registration = new Registration(Protocol.VERSION, worker.id(), publisher.epoch(), worker.baseUrl(),
                model.description(), events.blockCount(), link.mostGenerations(),
                /* prefixClosed */ true).withPackedPrompts().withAbilities(found.abilities())
                .withAssumed(events.isAssumed());
        return redis.isSet() ? registration.withEventStreams(redis.eventStreams()) : registration;
    }
}
