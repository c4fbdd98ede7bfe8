package dev.warmpath.worker;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.foreign.event.EventCounts;
import dev.warmpath.worker.foreign.event.EventSource;
import dev.warmpath.worker.foreign.event.EventSubscription;
import dev.warmpath.worker.foreign.generate.EngineFacts;
import dev.warmpath.worker.foreign.generate.EngineKind;
import dev.warmpath.worker.foreign.generate.EngineLink;
import dev.warmpath.worker.foreign.generate.EngineProbe;
import dev.warmpath.worker.foreign.generate.EngineTrial;
import dev.warmpath.worker.foreign.generate.EngineTrial.Comparison;
import dev.warmpath.worker.foreign.generate.FoundEngine;
import dev.warmpath.worker.foreign.generate.UnsuitableEngineException;
import dev.warmpath.worker.routerlink.KvEventPublisher;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Looks whether a running engine is started as a worker beside it wants it, by the same steps as such a worker: it asks
 * what the engine is, has it compute prompts that nobody has sent before, and follows its events. What is found is
 * told at once, in the order of a start; what cannot be looked at because of something before it is passed over.
 */
final class EngineDoctor {

    static final Duration PATIENCE = Duration.ofSeconds(15);
    private static final Duration LOOK_AGAIN = Duration.ofMillis(20);
    /** With another prompt, of which a listener should hear. */
    private static final Duration TRY_AGAIN = Duration.ofSeconds(1);
    private static final String FLAGS = "--kv-events-config '{\"enable_kv_cache_events\":true,\"publisher\":\"zmq\","
            + "\"endpoint\":\"tcp://*:5557\",\"replay_endpoint\":\"tcp://*:5558\"}'";
    /** Ids that every vocabulary has. */
    private static final int COMMON_IDS = 200;
    /** Of a prompt to an engine that does not tell what a block is. */
    private static final int SOME_TOKENS = 256;

    private final EngineProperties engine;
    private final KvProperties kv;
    private final @Nullable ModelProperties model;
    private final Consumer<Finding> findings;
    private final Duration patience;
    private boolean isFine = true;

    /**
     * @param model    null: there is none to compare with
     * @param patience for events that should come
     */
    EngineDoctor(EngineProperties engine, KvProperties kv, @Nullable ModelProperties model,
            Consumer<Finding> findings, Duration patience) {
        this.engine = engine;
        this.kv = kv;
        this.model = model;
        this.findings = findings;
        this.patience = patience;
    }

    /** @return whether nothing is missing */
    boolean examine() {
        try {
            EngineLink link = ForeignConfiguration.link(engine);
            EngineProbe.Look look = EngineProbe.look(link, Objects.requireNonNull(engine.kind().foreign),
                    model == null ? null : () -> ForeignModel.spelling(model));
            answers(look.facts());
            tokens(look);
            HashSettings hash = cache(look.facts());
            FoundEngine found = look.engine();
            if (found != null && found.tellsIds()) {
                try (var trial = new EngineTrial(link, found)) {
                    prompts(found.facts(), trial, hash);
                }
                comparison(link, found);
            } else {
                source(look.facts());
                if (model != null) {
                    ForeignModel.read(model, kv, look.facts());
                }
            }
        } catch (SettingsException e) {
            missing(e);
        } catch (UnsuitableEngineException e) {
            missing(e.getMessage());
        } catch (IOException e) {
            missing("the engine at " + engine.url() + " does not answer: " + said(e)
                    + ". Start it, or wait until its model is loaded");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            missing("interrupted");
        }
        return isFine;
    }

    private void answers(EngineFacts facts) {
        String name = switch (facts.kind()) {
            case VLLM -> "vLLM";
            case SGLANG -> "SGLang";
            case OPENAI -> "a server with OpenAI's API";
        };
        ok(String.format(Locale.ROOT, "answers: %s%s, model %s%s", name,
                facts.version() == null ? "" : " " + facts.version(), facts.model(),
                facts.root() == null ? "" : ", started from " + facts.root()));
        if (facts.contextLength() > 0) {
            ok(String.format(Locale.ROOT, "has a context of %,d tokens", facts.contextLength()));
        } else if (model == null) {
            warning("it does not say how long its context is. Set warmpath.model.context-length to what it was started "
                    + "with");
        }
    }

    private void tokens(EngineProbe.Look look) {
        FoundEngine found = look.engine();
        if (found == null) {
            missing(look.lack() + switch (look.facts().kind()) {
                case VLLM -> ". Start it with --enable-scale-out";
                case SGLANG -> "";
                case OPENAI -> ". Give --model, the folder from which it was started, to see whether text will do";
            });
        } else if (found.tellsIds()) {
            ok("takes token ids and tells them");
        } else {
            warning("it takes and gives text only: prompts are spelled out, and answers become token ids here."
                    + (engine.mostInFlight() == 1 ? "" : " If it computes one request at a time, as llama.cpp's Python "
                    + "server, set warmpath.engine.max-in-flight to 1"));
        }
    }

    /** @return by what its blocks are hashed; null: there are none that routers could be told of */
    private @Nullable HashSettings cache(EngineFacts facts) {
        EngineFacts.Cache cache = facts.cache();
        if (cache == null) {
            if (facts.kind() != EngineKind.OPENAI) {
                missing("it does not tell how many blocks of how many tokens it has, without which its events cannot "
                        + "be followed. Have it tell its metrics: vLLM without --disable-log-stats, SGLang with "
                        + "--enable-metrics");
            }
            return null;
        }
        if (!cache.reusesPrefixes()) {
            missing("it reuses no prefixes, so there is nothing to route by. Start it "
                    + (facts.kind() == EngineKind.SGLANG ? "without --disable-radix-cache"
                    : "with --enable-prefix-caching"));
            return null;
        }
        HashSettings hash;
        try {
            hash = ForeignModel.hashSettings(kv, facts);
        } catch (SettingsException e) {
            missing(e);
            return null;
        }
        ok(String.format(Locale.ROOT, "reuses prefixes, by %,d blocks of %d tokens", cache.blockCount() - 1,
                cache.blockSize()));
        return hash;
    }

    /** @return where its events are; null: it publishes none that can be followed, which is told */
    private @Nullable EventSource source(EngineFacts facts) {
        if (facts.kind() == EngineKind.OPENAI && engine.events().endpoint() == null) {
            warning("it tells nothing of its cache: it is taken to hold what it was sent");
            return null;
        }
        EventSource source;
        try {
            source = EngineEvents.source(engine, facts);
        } catch (SettingsException e) {
            missing(e);
            return null;
        }
        if (source == null) {
            missing("it publishes no events, or does not say where, so that it would be taken to hold what it was "
                    + "sent. Start it with " + FLAGS + "; where it does not tell of them, as vLLM before 0.32, set "
                    + "warmpath.engine.events.endpoint and warmpath.engine.events.replay-endpoint, too");
            return null;
        }
        boolean isReached = isReached("events", source.endpoint());
        if (source.replayEndpoint() == null) {
            missing("it keeps no events to be told again, or it is not set where: what it holds is known from a "
                    + "worker's start on only, and after a gap anew. " + (engine.events().endpoint() != null
                    ? "Set warmpath.engine.events.replay-endpoint beside warmpath.engine.events.endpoint"
                    : "Give --kv-events-config a replay_endpoint, such as tcp://*:5558"));
        } else {
            isReached &= isReached("replay", source.replayEndpoint());
        }
        return isReached ? source : null;
    }

    private boolean isReached(String what, String endpoint) {
        URI address = URI.create(endpoint);
        try (var socket = new Socket()) {
            socket.connect(new InetSocketAddress(address.getHost(), address.getPort()),
                    (int) engine.connectTimeout().toMillis());
            return true;
        } catch (IOException | IllegalArgumentException e) {
            missing("its socket of " + what + ", " + endpoint + ", cannot be reached from here: " + said(e)
                    + ". Bind it to every address (tcp://*:" + address.getPort() + ") and let it through, or set "
                    + "warmpath.engine.events.endpoint and warmpath.engine.events.replay-endpoint");
            return false;
        }
    }

    /** The first prompt is told again to whoever comes later, the next to whoever listens. */
    private void prompts(EngineFacts facts, EngineTrial trial, @Nullable HashSettings hash)
            throws IOException, UnsuitableEngineException, InterruptedException {
        GenerateRequest first = prompt(facts, hash);
        trial.cachedTokens(first.promptTokens());
        int cached = trial.cachedTokens(first.promptTokens());
        EventSource source = source(facts);
        if (source != null && hash != null) {
            follow(source, hash, facts, trial, first);
        }
        if (cached == EngineTrial.NOT_TOLD) {
            warning("its answers do not tell how many tokens were cached, so that those are told which were expected. "
                    + "Start " + (facts.kind() == EngineKind.VLLM ? "it with --enable-prompt-tokens-details"
                    : "it so that usage.prompt_tokens_details is told"));
        } else if (cached == 0 && hash != null) {
            warning("a prompt that was sent twice found nothing cached: the cache may be too small for what runs "
                    + "there");
        } else {
            ok("tells cached tokens: " + cached + " of a prompt of " + first.promptTokens().length + " sent twice");
        }
    }

    private void follow(EventSource source, HashSettings hash, EngineFacts facts, EngineTrial trial,
            GenerateRequest before) throws IOException, UnsuitableEngineException, InterruptedException {
        var publisher = new KvEventPublisher("doctor", /* epoch */ 1);
        var held = new HeldPrefix(publisher, hash);
        try (var events = new EventSubscription(source, hash, Objects.requireNonNull(facts.cache()).blockCount(),
                publisher::publish)) {
            if (source.replayEndpoint() != null) {
                if (await(patience, () -> held.tokens(before) > 0)) {
                    ok("tells again what it stored before, at " + source.replayEndpoint());
                } else {
                    missing("of a prompt that it had computed nothing came from its replay socket, "
                            + source.replayEndpoint() + whatCame(events.counts()));
                }
            }
            if (hears(held, facts, trial, hash)) {
                ok("tells what it stores, at " + source.endpoint());
            } else {
                missing("of a prompt that it has just computed nothing came from its socket of events, "
                        + source.endpoint() + whatCame(events.counts()));
            }
        } catch (IllegalArgumentException e) {
            missing("its events cannot be followed: " + e.getMessage());
        }
    }

    /** What is published before the engine knows of a listener, this one does not hear. */
    private boolean hears(HeldPrefix held, EngineFacts facts, EngineTrial trial, HashSettings hash)
            throws IOException, UnsuitableEngineException, InterruptedException {
        long deadline = System.nanoTime() + patience.toNanos();
        do {
            GenerateRequest fresh = prompt(facts, hash);
            trial.cachedTokens(fresh.promptTokens());
            if (await(TRY_AGAIN, () -> held.tokens(fresh) > 0)) {
                return true;
            }
        } while (System.nanoTime() - deadline < 0);
        return false;
    }

    private static String whatCame(EventCounts counts) {
        return counts.batches() == 0 && counts.broken() == 0
                ? ". Is it this engine's, and does it speak ZeroMQ there? Is the topic right "
                + "(warmpath.engine.events.topic)?"
                : String.format(Locale.ROOT, ", but %d messages: %d that cannot be read, %d events of unknown kinds, "
                + "%d blocks of another size, medium or group, %d of a chain whose beginning is not known",
                counts.batches(), counts.broken(), counts.unknown(), counts.passedOver(), counts.unproved());
    }

    private void comparison(EngineLink link, FoundEngine found) throws IOException, InterruptedException {
        if (model == null) {
            warning("its tokenizer was compared with nobody's. Give --model, the folder from which it was started");
            return;
        }
        ForeignModel.read(model, kv, found.facts());
        Comparison comparison = ForeignTokenizer.compare(link, found, model.directory());
        if (comparison.compared() == 0) {
            warning("it does not tell what its tokens are (" + comparison.silence() + "): see to it that "
                    + model.directory() + " is the folder from which it was started");
        } else if (comparison.differences().isEmpty()) {
            ok("has the tokenizer of " + model.directory() + ", as " + comparison.compared() + " tokens show");
        } else {
            missing(ForeignTokenizer.differ(comparison, model.directory()) + ". " + ForeignTokenizer.REMEDY);
        }
    }

    /** One block and a token, for one is always computed. */
    private static GenerateRequest prompt(EngineFacts facts, @Nullable HashSettings hash) {
        int length = hash != null ? hash.blockSize() + 1 : SOME_TOKENS + 1;
        int longest = facts.contextLength() == 0 ? length : Math.max(1, facts.contextLength() - 1);
        int[] ids = ThreadLocalRandom.current().ints(Math.min(length, longest), 0, COMMON_IDS).toArray();
        return GenerateRequest.of("doctor", ids, SamplingParameters.GREEDY, StopConditions.maxTokens(1));
    }

    private static boolean await(Duration patience, BooleanSupplier condition) throws InterruptedException {
        long deadline = System.nanoTime() + patience.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadline > 0) {
                return false;
            }
            Thread.sleep(LOOK_AGAIN);
        }
        return true;
    }

    private static String said(Exception e) {
        return switch (e) {
            case UnknownHostException unknown -> "there is no host " + unknown.getMessage();
            // Java's HTTP client says nothing of either
            case ConnectException silent when silent.getMessage() == null -> "there is no such host, or nobody listens";
            default -> Objects.requireNonNullElse(e.getMessage(), e.getClass().getSimpleName());
        };
    }

    private void ok(String sentence) {
        findings.accept(Finding.ok(sentence));
    }

    private void warning(String sentence) {
        findings.accept(Finding.warning(sentence));
    }

    private void missing(String sentence) {
        isFine = false;
        findings.accept(Finding.missing(sentence));
    }

    private void missing(SettingsException e) {
        e.problems().forEach(problem -> missing(problem.sentence()));
    }
}
