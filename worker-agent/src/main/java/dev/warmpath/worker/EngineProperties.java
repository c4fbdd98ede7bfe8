package dev.warmpath.worker;

import dev.warmpath.worker.foreign.generate.EngineKind;
import jakarta.validation.Valid;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import java.net.URI;
import java.time.Duration;
import java.util.Locale;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * What generates this worker's answers. With an engine that is not its own, the worker computes nothing: it stands
 * beside that engine, tells routers what it holds, and passes requests on. What {@code warmpath.compute},
 * {@code .scheduler} and most of {@code .kv} say then means nothing.
 *
 * @param kind {@code own}: this worker computes the model; {@code vllm}, {@code sglang}: it stands beside such a
 *             server; {@code openai}: beside any server with OpenAI's {@code /v1/completions}, which is asked for token
 *             ids, or for text if it has none, and of whose cache nothing is known but what was sent there
 * @param url of the engine's HTTP server, such as {@code http://127.0.0.1:8000}
 * @param model of those that it serves the one that this worker stands for, as the engine calls it; unset: its only
 *              one
 * @param apiKey sent to it as bearer token
 * @param rank of an engine with data parallelism, the one rank that this worker stands for: one worker for each
 * @param maxNumSeqs most requests at a time; as many connections
 * @param maxInFlight of the {@code max-num-seqs} so many at the engine at a time, the others wait in the worker;
 *                    unset: all. 1 for a server that computes one request and drops it when another comes
 * @param startTimeout how long a start waits for the engine, which may be loading its model
 * @param connectTimeout until it has taken a connection
 * @param firstTokenTimeout longest silence before the first token, the engine's own queue included
 * @param tokenTimeout and after it
 * @param pollInterval from one look at the engine's load and health to the next
 * @param assumedBlocks of an engine that tells nothing of its cache, not even its size: so many blocks of
 *                      {@code warmpath.kv.block-size} tokens, the last that it was sent, it is taken to hold
 * @param compareTokens a start compares some tokens of {@code tokenizer.json} with the engine's, where it tells them
 * @param stepping of the worker's own engine on processors: whether it may be held, and stepped by hand, by routers;
 *                 unset: only where the worker listens on loopback alone
 * @param events where the engine publishes what its cache holds
 */
@Validated
@ConfigurationProperties("warmpath.engine")
public record EngineProperties(
        @DefaultValue("own") Kind kind,
        @Nullable URI url,
        @Nullable String model,
        @Nullable String apiKey,
        @Nullable @Min(0) @Max(4_095) Integer rank,
        @DefaultValue("256") @Min(1) @Max(65_536) int maxNumSeqs,
        @Nullable @Min(1) @Max(65_536) Integer maxInFlight,
        @DefaultValue("30m") @DurationMin(seconds = 1) @DurationMax(hours = 24) Duration startTimeout,
        @DefaultValue("2s") @DurationMin(millis = 10) @DurationMax(minutes = 1) Duration connectTimeout,
        @DefaultValue("10m") @DurationMin(millis = 10) @DurationMax(hours = 1) Duration firstTokenTimeout,
        @DefaultValue("2m") @DurationMin(millis = 10) @DurationMax(hours = 1) Duration tokenTimeout,
        @DefaultValue("1s") @DurationMin(millis = 50) @DurationMax(minutes = 1) Duration pollInterval,
        @DefaultValue("4096") @Min(1) @Max(1 << 20) int assumedBlocks,
        @DefaultValue("true") boolean compareTokens,
        @Nullable Boolean stepping,
        @DefaultValue @Valid Events events) {

    /** Whose engine it is. */
    public enum Kind {
        OWN(null),
        VLLM(EngineKind.VLLM),
        SGLANG(EngineKind.SGLANG),
        OPENAI(EngineKind.OPENAI);

        final @Nullable EngineKind foreign;

        Kind(@Nullable EngineKind foreign) {
            this.foreign = foreign;
        }
    }

    /**
     * Sockets of ZeroMQ. What is unset, the engine is asked for, where it tells.
     *
     * @param endpoint of events, such as {@code tcp://127.0.0.1:5557}
     * @param replayEndpoint of those that were; unset: a gap forgets what was known
     * @param topic what messages begin with; unset: whatever it is
     */
    public record Events(@Nullable String endpoint, @Nullable String replayEndpoint, @Nullable String topic) {}

    public EngineProperties {
        if (kind != Kind.OWN && url == null) {
            throw new SettingsException("warmpath.engine.kind is " + kind.name().toLowerCase(Locale.ROOT)
                    + ", but warmpath.engine.url is not set", "Say where it is, such as http://127.0.0.1:8000");
        }
    }

    /** Of the requests that are taken, so many are at the engine. */
    int mostInFlight() {
        return maxInFlight == null ? maxNumSeqs : Math.min(maxInFlight, maxNumSeqs);
    }
}
