package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import dev.warmpath.worker.foreign.event.PublishingEngine;
import dev.warmpath.worker.foreign.generate.EngineFacts;
import dev.warmpath.worker.foreign.generate.EngineFacts.EventSource;
import dev.warmpath.worker.foreign.generate.EngineKind;
import dev.warmpath.worker.routerlink.KvEventPublisher;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

/** Of an engine of 80 blocks of 32 tokens, or of one that tells nothing. */
class EngineEventsTest {

    private static final EngineFacts.Cache CACHE = new EngineFacts.Cache(32, 81, true);
    private static final HashSettings HASH = HashSettings.ofBlockSize(32);

    private final KvEventPublisher publisher = new KvEventPublisher("w", 1);

    @Test
    void what_is_bound_at_every_address_is_followed_at_the_engines_host() {
        try (var engine = new PublishingEngine(100, /* answersHaveTopic */ true)) {
            Map<Integer, EventSource> told = Map.of(0, new EventSource(engine.source().endpoint()
                    .replace("127.0.0.1", "*"), engine.source().replayEndpoint().replace("127.0.0.1", "*"), ""));
            try (EngineEvents events = follow(Map.of(), CACHE, told)) {
                engine.awaitSubscriber();
                awaitFollowing(events);
                assertThat(events.blockCount()).isEqualTo(80);
                assertThat(events.isAssumed()).isFalse();
            }
        }
    }

    @Test
    void an_engine_of_two_ranks_is_refused_unless_one_is_named() {
        try (var engine = new PublishingEngine(100, /* answersHaveTopic */ true)) {
            var one = new EventSource(engine.source().endpoint(), engine.source().replayEndpoint(), "");
            var other = new EventSource("tcp://127.0.0.1:1", null, "");
            assertThatThrownBy(() -> follow(Map.of(), CACHE, Map.of(0, other, 1, one)))
                    .isInstanceOf(SettingsException.class).hasMessageContaining("the engine has 2 ranks")
                    .hasMessageContaining("set warmpath.engine.rank");
            try (EngineEvents events = follow(Map.of("rank", "1"), CACHE, Map.of(0, other, 1, one))) {
                engine.awaitSubscriber();
                awaitFollowing(events);
            }
        }
    }

    @Test
    void an_engine_that_tells_nothing_is_taken_to_hold_what_it_was_sent() {
        try (EngineEvents events = follow(Map.of("assumed-blocks", "7"), null, Map.of())) {
            assertThat(events.isFollowing()).isFalse();
            assertThat(events.isAssumed()).isTrue();
            assertThat(events.blockCount()).isEqualTo(7);
            assertThat(events.cache().expectedTokens(request(100))).isZero();
            assertThat(events.cache().expectedTokens(request(100))).as("it was not sent").isZero();
            events.cache().sent(request(100));
            assertThat(events.cache().expectedTokens(request(100))).isEqualTo(96);
            assertThat(publisher.state().setSize()).isEqualTo(3);
        }
    }

    @Test
    void an_engine_that_reuses_nothing_is_expected_to_have_nothing() {
        try (EngineEvents events = follow(Map.of(), new EngineFacts.Cache(32, 81, false), Map.of())) {
            events.cache().sent(request(100));
            assertThat(events.cache().expectedTokens(request(100))).isZero();
            assertThat(publisher.state().setSize()).isZero();
            assertThat(events.isAssumed()).as("that it holds nothing for others is known").isFalse();
        }
    }

    @Test
    void sockets_that_cannot_be_followed_are_a_sentence() {
        assertThatThrownBy(() -> follow(Map.of("events.endpoint", "tcp://127.0.0.1:5557"), null, Map.of()))
                .isInstanceOf(SettingsException.class)
                .hasMessageContaining("it does not tell how many blocks of how many tokens it has");
        assertThatThrownBy(() -> follow(Map.of("events.endpoint", "tcp://host.invalid:5557"), CACHE, Map.of()))
                .isInstanceOf(SettingsException.class).hasMessageContaining("Set warmpath.engine.events.endpoint");
        assertThatThrownBy(() -> follow(Map.of("events.endpoint", "5557"), CACHE, Map.of()))
                .isInstanceOf(SettingsException.class).hasMessageContaining("'5557' is no endpoint");
    }

    private EngineEvents follow(Map<String, String> settings, EngineFacts.@Nullable Cache cache,
            Map<Integer, EventSource> sources) {
        Map<String, String> all = new HashMap<>(Map.of("warmpath.engine.kind", "vllm",
                "warmpath.engine.url", "http://127.0.0.1:8000"));
        settings.forEach((name, value) -> all.put("warmpath.engine." + name, value));
        var properties = new Binder(new MapConfigurationPropertySource(all))
                .bindOrCreate("warmpath.engine", EngineProperties.class);
        var facts = new EngineFacts(EngineKind.VLLM, "0.32.0", "m", "m", 2_048, cache, 0, sources);
        return EngineEvents.follow(properties, facts, HASH, publisher);
    }

    private static void awaitFollowing(EngineEvents events) {
        while (!events.isFollowing()) {
            Thread.onSpinWait();
        }
    }

    private static GenerateRequest request(int length) {
        return GenerateRequest.of("r", IntStream.range(0, length).toArray(), SamplingParameters.GREEDY,
                StopConditions.maxTokens(1));
    }
}
