package dev.warmpath.worker.foreign.generate;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SamplesTest {

    @Test
    void values_and_labels_are_read_and_longer_names_are_other_series() {
        var page = new Samples("""
                # TYPE a gauge
                a 1.5
                a{x="1",y="q\\"}, \\\\n"} 2.0 1795365447
                a_total{x="1"} 3
                a{x="2} 4
                a{x="3"} NaN?
                """);
        assertThat(page.of("a")).hasSize(2);
        assertThat(page.of("a").get(1).label("y")).isEqualTo("q\"}, \\n");
        assertThat(page.of("a").get(1).value()).isEqualTo(2);
        assertThat(page.first("a", 0)).isEqualTo(1.5);
        assertThat(page.first("b", 7)).isEqualTo(7);
    }

    @Test
    void of_two_ranks_one_is_told_alone_or_both_together() {
        var page = new Samples("""
                vllm:num_requests_running{engine="0",model_name="m"} 3.0
                vllm:num_requests_running{engine="1",model_name="m"} 4.0
                vllm:num_requests_waiting{engine="0",model_name="m"} 0.0
                vllm:num_requests_waiting{engine="1",model_name="m"} 9.0
                vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.03749999999999998
                vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.5
                """);
        var cache = new EngineFacts.Cache(32, 81, true);
        assertThat(SeriesNames.VLLM.load(page, cache, null)).isEqualTo(new EngineLoad(7, 9, 77 + 40));
        assertThat(SeriesNames.VLLM.load(page, cache, 1)).isEqualTo(new EngineLoad(4, 9, 40));
        assertThat(SeriesNames.VLLM.load(page, null, 0)).isEqualTo(new EngineLoad(3, 0, ForeignLoad.NOT_KNOWN));
    }

    @Test
    void what_sglang_tells_of_each_card_and_priority_counts_once() {
        var page = new Samples("""
                sglang:num_running_reqs{priority="",tp_rank="0"} 14.0
                sglang:num_running_reqs{priority="",tp_rank="1"} 14.0
                sglang:num_running_reqs{priority="0",tp_rank="0"} 13.0
                sglang:num_queue_reqs{tp_rank="0"} 2.0
                sglang:token_usage{tp_rank="0"} 0.25
                """);
        assertThat(SeriesNames.SGLANG.load(page, new EngineFacts.Cache(16, 101, true), null))
                .isEqualTo(new EngineLoad(14, 2, 75));
    }
}
