package dev.warmpath.planner.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import dev.warmpath.planner.simulation.ServiceModel;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CalibrationTest {

    @Test
    void what_a_request_takes_beside_steps_is_the_median_of_what_steps_do_not_explain(@TempDir Path folder)
            throws IOException {
        // a step of 1 ms and 10 us for each of 100 tokens that were not cached: 2 of 5, 7 and 52 ms
        Path log = folder.resolve("log.jsonl");
        var lines = new StringBuilder();
        for (int millis : new int[] {5, 7, 52}) {
            lines.append("{\"decisions\": [{\"prompt_tokens\": 164, \"outcome\": {\"cached_tokens\": 64,"
                    + " \"first_token_ms\": " + millis + "}}]}\n");
        }
        Files.writeString(log, lines);

        assertThat(RequestOverhead.micros(log, new ServiceModel(1_000, 10, 0, 0, 0))).isCloseTo(5_000,
                Offset.offset(5.0));
        Files.writeString(log, "{\"decisions\": []}\n");
        assertThatThrownBy(() -> RequestOverhead.micros(log, new ServiceModel(1_000, 10, 0, 0, 0)))
                .isInstanceOf(CostException.class).hasMessageContaining("has no attempt");
    }

    private static final Offset<Double> EXACT = Offset.offset(1e-9);

    @TempDir
    Path folder;

    private HttpServer server;

    @BeforeEach
    void serve() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    @Test
    void a_worker_s_meters_become_microseconds_and_nanoseconds() throws Exception {
        answer("/actuator/prometheus", """
                # HELP warmpath_engine_step_cost_seconds What a step takes lately
                # TYPE warmpath_engine_step_cost_seconds gauge
                warmpath_engine_step_cost_seconds{part="context_token"} 1.02E-7
                warmpath_engine_step_cost_seconds{part="prompt_token"} 6.7E-5
                warmpath_engine_step_cost_seconds{part="row"} 0.0
                warmpath_engine_step_cost_seconds{part="step"} 1.94E-4
                warmpath_kv_blocks_free 12.0
                warmpath_kv_blocks 4096.0
                """);

        WorkerCost told = PublishedCosts.ask(address()).getFirst();

        assertThat(told.blocks()).isEqualTo(4_096);
        assertThat(told.service().stepMicros()).isEqualTo(194, EXACT);
        assertThat(told.service().promptTokenMicros()).isEqualTo(67, EXACT);
        assertThat(told.service().pairNanos()).isZero();
        assertThat(told.service().rowMicros()).isZero();
        assertThat(told.service().contextTokenNanos()).isEqualTo(102, EXACT);
    }

    @Test
    void a_router_s_fleet_is_its_median_with_least_and_most_without_those_that_have_not_measured() throws Exception {
        answer("/actuator/workers", """
                {"workers":[%s,%s,%s,{"id":"new","revision":"r2","blockCount":8,"stepCost":null}]}"""
                .formatted(worker("a", 100, 10), worker("b", 400, 30), worker("c", 200, 20)));

        Calibration calibration = Calibration.of("here", PublishedCosts.ask(address()), 2);

        assertThat(calibration.measured()).isEqualTo(3);
        assertThat(calibration.workers()).hasSize(4);
        assertThat(calibration.model().service()).isEqualTo(new ServiceModel(200, 20, 2, 5, 7));
        assertThat(calibration.spread().getFirst()).isEqualTo(new Calibration.Spread("step_micros", 100, 200, 400));
    }

    @Test
    void of_two_workers_the_median_lies_between() throws IOException {
        assertThat(Calibration.of("here", List.of(cost(100), cost(300)), 0).model().service().stepMicros())
                .isEqualTo(200);
    }

    @Test
    void a_worker_that_has_measured_nothing_asks_for_load() {
        answer("/actuator/prometheus", """
                warmpath_engine_step_cost_seconds{part="step"} NaN
                warmpath_engine_step_cost_seconds{part="prompt_token"} NaN
                """);

        assertThatThrownBy(() -> Calibration.of("here", PublishedCosts.ask(address()), 0))
                .isInstanceOf(CostException.class).hasMessageContaining("./warmpath bench");
    }

    @Test
    void what_is_neither_router_nor_worker_is_refused() {
        assertThatThrownBy(() -> PublishedCosts.ask(address()))
                .isInstanceOf(CostException.class).hasMessageContaining("management port");
    }

    @Test
    void a_model_that_was_written_is_read_again_by_its_file() throws IOException {
        Path file = folder.resolve("cost.json");
        CostModel model = Calibration.of("here", List.of(cost(100)), 0).model();
        model.write(file);

        assertThat(CostModel.named(file.toString())).isEqualTo(model);
        assertThat(CostModel.named("Large-On-Four-Cards").service()).isEqualTo(ServiceModel.LARGE_ON_FOUR_CARDS);
    }

    @Test
    void a_file_that_is_no_model_is_refused_by_name() throws IOException {
        Path negative = folder.resolve("negative.json");
        new CostModel("m", "s", new ServiceModel(-1, 1, 0, 0, 0), 0, 0).write(negative);
        Path incomplete = Files.writeString(folder.resolve("incomplete.json"), "{\"name\": \"m\"}");

        assertThatThrownBy(() -> CostModel.named(negative.toString())).isInstanceOf(CostException.class)
                .hasMessageContaining("negative.json").hasMessageContaining("step_micros").hasMessageContaining("-1.0");
        assertThatThrownBy(() -> CostModel.named(incomplete.toString())).isInstanceOf(CostException.class)
                .hasMessageContaining("incomplete.json");
        assertThatThrownBy(() -> CostModel.named("nowhere")).isInstanceOf(CostException.class)
                .hasMessageContaining("tiny-on-a-processor");
    }

    private static WorkerCost cost(double stepMicros) {
        return new WorkerCost("w", "", new ServiceModel(stepMicros, 10, 0, 5, 7), 0);
    }

    private static String worker(String id, int step, int token) {
        return """
                {"id":"%s","revision":"r1","blockCount":8,"stepCost":{"stepMicros":%d,"promptTokenMicros":%d,\
                "rowMicros":5,"contextTokenNanos":7}}""".formatted(id, step, token);
    }

    private URI address() {
        return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
    }

    private void answer(String path, String text) {
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        server.createContext(path, exchange -> {
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
    }
}
