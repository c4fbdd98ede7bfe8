package dev.warmpath.worker.foreign.generate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.process.TestEngine;
import dev.warmpath.worker.foreign.generate.EngineFacts.EventSource;
import java.io.IOException;
import java.net.URI;
import java.util.Map;
import org.junit.jupiter.api.Test;

class EngineProbeTest {

    @Test
    void a_vllm_of_0_32_is_asked_by_completions_and_tells_what_it_is() throws Exception {
        try (TestEngine engine = Captures.vllm32().answer("/v1/completions",
                Captures.answer("vllm-0.32/completions-ids-return-token-ids"))) {
            FoundEngine found = EngineProbe.connect(EngineLink.to(engine.address()), EngineKind.VLLM);

            assertThat(found.dialect()).isEqualTo(new Completions("smollm2-135m", /* isVllm */ true));
            assertThat(found.facts()).isEqualTo(new EngineFacts(EngineKind.VLLM, "0.32.0", "smollm2-135m",
                    "smollm2-135m-instruct", 2_048, new EngineFacts.Cache(32, 81, true),
                    1.79536544707e9, Map.of(0, new EventSource("tcp://*:21100", "tcp://*:21200",
                            "kv@127.0.0.1:21000@smollm2-135m"))));
            assertThat(engine.requests("/v1/completions").getFirst().body()).isEqualTo("{\"model\":\"smollm2-135m\","
                    + "\"prompt\":[0],\"max_tokens\":1,\"temperature\":0,\"return_token_ids\":true}");
        }
    }

    @Test
    void of_several_models_the_one_is_taken_that_is_named_and_none_if_none_is() throws Exception {
        try (TestEngine engine = Captures.vllm32().answer("/v1/models", TestEngine.json(200, """
                {"data": [{"id": "embedder", "root": "e", "max_model_len": 512},
                          {"id": "llama", "root": "l", "max_model_len": 4096}]}"""))
                .answer("/v1/completions", Captures.answer("vllm-0.32/completions-ids-return-token-ids"))) {
            EngineLink link = EngineLink.to(engine.address());
            assertThatThrownBy(() -> EngineProbe.connect(link, EngineKind.VLLM))
                    .isInstanceOf(UnsuitableEngineException.class)
                    .hasMessageContaining("serves several models").hasMessageContaining("embedder, llama");
            assertThatThrownBy(() -> EngineProbe.connect(link.withModel("lama"), EngineKind.VLLM))
                    .isInstanceOf(UnsuitableEngineException.class).hasMessageContaining("no model 'lama', but: ");

            EngineFacts facts = EngineProbe.connect(link.withModel("llama"), EngineKind.VLLM).facts();
            assertThat(facts.model()).isEqualTo("llama");
            assertThat(facts.contextLength()).isEqualTo(4_096);
            assertThat(engine.requests("/v1/completions").getLast().body()).contains("\"model\":\"llama\"");
        }
    }

    @Test
    void names_of_one_model_are_one_model_whatever_adapters_it_has() throws Exception {
        try (TestEngine engine = Captures.vllm32().answer("/v1/models", TestEngine.json(200, """
                {"data": [{"id": "tuned", "root": "/t", "parent": "a"}, {"id": "a", "root": "/m", "parent": null},
                          {"id": "b", "root": "/m"}]}"""))
                .answer("/v1/completions", Captures.answer("vllm-0.32/completions-ids-return-token-ids"))) {
            assertThat(EngineProbe.connect(EngineLink.to(engine.address()), EngineKind.VLLM).facts().model())
                    .isEqualTo("a");
        }
    }

    @Test
    void an_address_with_something_beside_host_and_port_is_refused() {
        for (String address : new String[] {"http://127.0.0.1:1/prefix", "http://user:pass@127.0.0.1:1",
            "http://127.0.0.1:1?a=b", "http://vllm_1:8000", "tcp://127.0.0.1:1"}) {
            assertThatThrownBy(() -> EngineLink.to(URI.create(address))).as(address)
                    .isInstanceOf(IllegalArgumentException.class).message().doesNotContain("pass");
        }
    }

    @Test
    void one_that_is_called_any_server_is_known_as_vllm() throws Exception {
        try (TestEngine engine = Captures.vllm32().answer("/v1/completions",
                Captures.answer("vllm-0.32/completions-ids-return-token-ids"))) {
            FoundEngine found = EngineProbe.connect(EngineLink.to(engine.address()), EngineKind.OPENAI);
            assertThat(found.facts().kind()).isEqualTo(EngineKind.VLLM);
            assertThat(found.dialect()).isEqualTo(new Completions("smollm2-135m", /* isVllm */ true));
        }
    }

    @Test
    void one_whose_completions_tell_no_ids_is_asked_by_its_token_endpoint() throws Exception {
        try (TestEngine engine = Captures.vllm32()
                .answer("/v1/completions", Captures.answer("vllm-0.32/completions-ids"))
                .answer("/inference/v1/generate", Captures.answer("vllm-0.32/generate"))) {
            assertThat(EngineProbe.connect(EngineLink.to(engine.address()), EngineKind.VLLM).dialect())
                    .isEqualTo(new VllmTokens("smollm2-135m", /* tellsLogprobs */ true));
        }
    }

    @Test
    void a_token_endpoint_before_0_32_has_no_usable_logprobs() throws Exception {
        try (TestEngine engine = Captures.vllm32().answer("/version", TestEngine.json(200, "{\"version\":\"0.31.1\"}"))
                .answer("/v1/completions", Captures.answer("vllm-0.32/completions-ids"))
                .answer("/inference/v1/generate", Captures.answer("vllm-0.32/generate"))) {
            assertThat(EngineProbe.connect(EngineLink.to(engine.address()), EngineKind.VLLM).dialect())
                    .isEqualTo(new VllmTokens("smollm2-135m", /* tellsLogprobs */ false));
        }
    }

    @Test
    void one_that_gives_no_ids_at_all_is_told_with_its_own_words() {
        try (TestEngine engine = Captures.vllm32()
                .answer("/v1/completions", Captures.answer("vllm-0.32/completions-ids"))
                .answer("/inference/v1/generate", Captures.answer("vllm-0.32/generate-without-enable-scale-out"))) {
            assertThatThrownBy(() -> EngineProbe.connect(EngineLink.to(engine.address()), EngineKind.VLLM))
                    .isInstanceOf(UnsuitableEngineException.class)
                    .hasMessageContaining("answers without token ids")
                    .hasMessageContaining("403").hasMessageContaining("--enable-scale-out");
        }
    }

    @Test
    void both_ranks_of_an_engine_tell_their_sockets_and_one_rank_is_named_in_every_question() throws Exception {
        try (TestEngine engine = Captures.vllm32()
                .answer("/metrics", Captures.page("vllm-0.32/metrics-of-two-ranks"))
                .answer("/kv_event_sources", Captures.answer("vllm-0.32/kv-event-sources-of-two-ranks"))
                .answer("/v1/completions", Captures.answer("vllm-0.32/completions-ids-return-token-ids"))) {
            EngineLink link = EngineLink.to(engine.address()).withRank(1);
            EngineFacts facts = EngineProbe.connect(link, EngineKind.VLLM).facts();

            assertThat(facts.eventSources()).containsOnlyKeys(0, 1);
            assertThat(facts.eventSources().get(1).replayEndpoint()).isEqualTo("tcp://*:21211");
            assertThat(facts.cache()).isEqualTo(new EngineFacts.Cache(128, 728, true));
            assertThat(engine.requests("/v1/completions").getFirst().headers())
                    .containsEntry("x-data-parallel-rank", "1");
        }
    }

    @Test
    void a_server_that_takes_text_only_is_refused_where_no_tokenizer_is_given() {
        try (TestEngine engine = TestEngine.start()
                .answer("/v1/models", TestEngine.json(200, "{\"object\":\"list\",\"data\":[{\"id\":\"smollm2-135m\","
                        + "\"object\":\"model\",\"owned_by\":\"me\",\"permissions\":[]}]}"))
                .answer("/v1/completions", TestEngine.json(500, "{\"error\":{\"message\":\"13 validation errors:\\n  "
                        + "{'type': 'string_type', 'loc': ('body', 'prompt', 'str')}\","
                        + "\"type\":\"internal_server_error\",\"param\":null,\"code\":null}}"))) {
            assertThatThrownBy(() -> EngineProbe.connect(EngineLink.to(engine.address()), EngineKind.OPENAI))
                    .isInstanceOf(UnsuitableEngineException.class)
                    .hasMessageContaining("takes or gives no token ids: /v1/completions")
                    .hasMessageContaining("13 validation errors");
        }
    }

    @Test
    void an_sglang_tells_its_pages_and_whether_it_knows_salts() throws Exception {
        try (TestEngine engine = sglang()) {
            FoundEngine found = EngineProbe.connect(EngineLink.to(engine.address()), EngineKind.SGLANG);

            assertThat(found.dialect()).isEqualTo(new SglangTokens(/* takesSalt */ false));
            assertThat(found.facts().contextLength()).isEqualTo(32_767);
            assertThat(found.facts().cache()).isEqualTo(new EngineFacts.Cache(16, 1_001, true));
            assertThat(found.facts().eventSources()).isEqualTo(Map.of(
                    0, new EventSource("tcp://*:5557", "tcp://*:6557", "sg"),
                    1, new EventSource("tcp://*:5558", "tcp://*:6558", "sg")));

            engine.answer("/openapi.json", TestEngine.json(200, "{\"components\":{\"schemas\":{\"GenerateReqInput\":"
                    + "{\"properties\":{\"rid\":{},\"cache_salt\":{}}}}}}"));
            assertThat(EngineProbe.connect(EngineLink.to(engine.address()), EngineKind.SGLANG).dialect())
                    .isEqualTo(new SglangTokens(/* takesSalt */ true));
        }
    }

    /** After the sources of 0.5.23; none was run. */
    static TestEngine sglang() {
        return TestEngine.start()
                .answer("/v1/models", TestEngine.json(200, "{\"object\":\"list\",\"data\":[{\"id\":\"m\","
                        + "\"owned_by\":\"sglang\",\"root\":\"m\",\"max_model_len\":32768}]}"))
                .answer("/health", TestEngine.json(200, ""))
                .answer("/server_info", TestEngine.json(200, "{\"version\":\"0.5.23\",\"page_size\":16,"
                        + "\"max_total_num_tokens\":16000,\"disable_radix_cache\":false,\"kv_events\":{\"publisher\":"
                        + "\"zmq\",\"endpoint_host\":\"*\",\"endpoint_port_base\":5557,\"topic\":\"sg\","
                        + "\"block_size\":16,\"dp_size\":2,\"replay_endpoint_port_base\":6557}}"))
                .answer("/generate", TestEngine.json(200, "{\"text\":\"a\",\"output_ids\":[7],\"meta_info\":{}}"));
    }

    @Test
    void another_key_nothing_there_and_something_else_are_told_apart() throws Exception {
        try (TestEngine engine = TestEngine.start()) {
            EngineLink link = EngineLink.to(engine.address());
            assertThatThrownBy(() -> EngineProbe.connect(link, EngineKind.VLLM))
                    .isInstanceOf(UnsuitableEngineException.class).hasMessageContaining("has no /v1/models");
            engine.answer("/v1/models", TestEngine.json(401, "{\"error\":\"Unauthorized\"}"));
            assertThatThrownBy(() -> EngineProbe.connect(link, EngineKind.VLLM))
                    .isInstanceOf(UnsuitableEngineException.class).hasMessageContaining("another key");
            engine.answer("/v1/models", TestEngine.json(200, "<html>"));
            assertThatThrownBy(() -> EngineProbe.connect(link, EngineKind.VLLM))
                    .isInstanceOf(UnsuitableEngineException.class).hasMessageContaining("'<html>'");
            engine.answer("/v1/models", TestEngine.json(503, ""));
            assertThatThrownBy(() -> EngineProbe.connect(link, EngineKind.VLLM)).isInstanceOf(IOException.class);
        }
        assertThatThrownBy(() -> EngineProbe.connect(EngineLink.to(URI.create("http://127.0.0.1:1")), EngineKind.VLLM))
                .isInstanceOf(IOException.class);
    }
}
