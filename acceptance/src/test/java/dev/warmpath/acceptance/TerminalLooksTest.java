package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.warmpath.acceptance.Gateway.Answer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The commands that look at a fleet and put load on it, each as a process of its own, before a real router and two real
 * workers. The test that kills the router comes last.
 */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class TerminalLooksTest {

    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final Path PROGRAM = LocalFleet.ROOT.resolve("cli/target/cli.jar");
    private static final String OWN_PAGE = "\033[?1049h";
    private static final String USERS_PAGE = "\033[?1049l";
    private static final int CTRL_C = 3;
    private static final String TOKEN = "of-these-operators";

    private static LocalFleet fleet;
    private static Gateway gateway;

    /** In which no fleet is. */
    @TempDir
    static Path state;

    /** What a command said, and its exit status. */
    private record Said(int status, String out, String err) {

        JsonNode json() {
            assertThat(status).as(err).isZero();
            return JSON.readTree(out);
        }
    }

    @BeforeAll
    static void start() {
        String token = "--warmpath.management.token=" + TOKEN;
        fleet = LocalFleet.start(1, 2, LocalFleet.patient(token), List.of(token));
        gateway = fleet.gateway();
    }

    @AfterAll
    static void stop() {
        if (fleet != null) {
            fleet.close();
        }
    }

    @Test
    @Order(1)
    void workers_shows_both_and_top_prints_once_where_no_terminal_is() throws Exception {
        JsonNode reading = warmpath("workers", "--json").json();
        assertThat(reading.path("workers").valueStream().map(each -> each.path("id").asString("")))
                .containsExactly("worker-1", "worker-2");
        assertThat(reading.path("workers").valueStream()).allSatisfy(each -> {
            assertThat(each.path("state").asString("")).isEqualTo("ready");
            assertThat(each.path("grade").asString("")).isEqualTo("exact");
            assertThat(each.path("blocks").asInt(0)).isPositive();
        });
        assertThat(warmpath("workers").out.lines()).hasSize(3);
        assertThat(warmpath("top").out).contains("2 of 2 workers ready").doesNotContain("\033");
    }

    @Test
    @Order(2)
    void an_explanation_is_the_routers_own_and_afterwards_what_was_found_stands_beside_it() throws Exception {
        int[] prompt = IntStream.range(100, 200).toArray();
        Answer first = gateway.complete(prompt, 2);
        IndexTruth.awaitEqual(List.of(gateway), 2);
        Map<String, Object> body = Map.of("model", LocalFleet.MODEL, "prompt", prompt, "max_tokens", 2);
        Path file = Files.writeString(state.resolve("body.json"), JSON.writeValueAsString(body));

        JsonNode shown = warmpath("explain", file.toString(), "--json").json();
        JsonNode route = gateway.explain(body);
        for (String field : List.of("model", "revision", "worker", "policy", "reason", "prompt_tokens", "prompt_hash",
                "matched_blocks", "predicted_cached_tokens")) {
            assertThat(shown.path(field)).as(field).isEqualTo(route.path(field));
        }
        assertThat(shown.path("worker").asString("")).isEqualTo(first.worker());
        assertThat(warmpath("explain", file.toString()).out)
                .contains("100 tokens of warmpath-tiny: 6 blocks of 16 tokens, and 4 more")
                .contains("chosen    " + first.worker() + " by expected-first-token: prefix, ")
                .containsPattern(first.worker() + " +██████ +6/6").containsPattern(" ······ +0/6");

        gateway.complete(prompt, 2);
        String request = JSON.readTree(gateway.lastDecisions(1)).path("decisions").get(0).path("request").asString("");
        assertThat(warmpath("explain", "--request", request).out).contains("request   " + request + ", try 1")
                .containsPattern("cached tokens +96 +96\n").containsPattern("██████ +6/6");
    }

    @Test
    @Order(3)
    void a_drained_worker_gets_nothing_until_it_is_undrained() throws Exception {
        assertThat(warmpath("drain", "worker-1", "--wait").out)
                .contains("nothing new goes to worker-1, and it has no requests any more");
        assertThat(gateway.readyWorkers()).containsExactly("worker-2");
        for (int i = 0; i < 4; i++) {
            assertThat(gateway.complete(new int[] {7, i}, 1).worker()).isEqualTo("worker-2");
        }
        assertThat(warmpath("explain", "--prompt", "hello").out).contains("left out  worker-1: draining");

        assertThat(warmpath("undrain", "worker-1", "--json").json().path("drained").asBoolean(true)).isFalse();
        assertThat(gateway.readyWorkers()).containsExactlyInAnyOrder("worker-1", "worker-2");
    }

    @Test
    @Order(4)
    void workers_forget_their_prefixes() throws Exception {
        int[] prompt = IntStream.range(300, 400).toArray();
        gateway.complete(prompt, 2);
        assertThat(gateway.complete(prompt, 2).cachedTokens()).isEqualTo(96);

        assertThat(warmpath("reset-cache", "--token", TOKEN).out.lines()).containsExactly(
                "worker-1: has forgotten all prefixes", "worker-2: has forgotten all prefixes");
        assertThat(gateway.complete(prompt, 2).cachedTokens()).isZero();
    }

    @Test
    @Order(5)
    void a_load_of_forty_requests_is_forty_at_the_router_and_hits_what_it_shares() throws Exception {
        double before = requestsAnswered();
        JsonNode report = bench("--requests", "40", "--scale", "0.25", "--seed", "1", "--slo", "ttft=600s").json();
        JsonNode results = report.path("results");

        assertThat(report.path("spelling").asString("")).isEqualTo("ids");
        assertThat(results.path("requests").path("answered").asInt(0)).isEqualTo(40);
        assertThat(results.path("requests").path("failed").asInt(-1)).isZero();
        assertThat(requestsAnswered() - before).as("forty, and one that asks whether ids are taken").isEqualTo(41);
        assertThat(results.path("workers").valueStream().mapToInt(JsonNode::asInt).sum()).isEqualTo(40);
        // 32 pieces of 16 tokens are for all, of 4 as sent: all prompts but the first of a worker find them
        assertThat(results.path("hit_rate").asDouble(0)).isGreaterThan(0.5);
        assertThat(results.path("ttft_ms").path("p99").asDouble(0)).isPositive();
    }

    @Test
    @Order(6)
    void turns_of_an_open_loop_go_on_from_what_was_generated_in_ids_and_in_text() throws Exception {
        for (List<String> spelling : List.of(List.of("ids"), List.of("text", "--text"))) {
            List<String> arguments = new ArrayList<>(List.of("--load", "busy-clients", "--requests", "12", "--rate",
                    "20", "--seed", "2"));
            arguments.addAll(spelling.subList(1, spelling.size()));
            JsonNode report = bench(arguments.toArray(String[]::new)).json();

            assertThat(report.path("spelling").asString("")).isEqualTo(spelling.getFirst());
            assertThat(report.path("scale").asDouble(1)).as("eight turns do not fit into 2,048 tokens").isLessThan(1);
            assertThat(report.path("results").path("requests").path("answered").asInt(0)).isEqualTo(12);
            assertThat(report.path("results").path("errors").size()).isZero();
        }
    }

    @Test
    @Order(7)
    void what_cannot_be_done_is_a_sentence_and_status_1_and_a_wrong_call_status_2() throws Exception {
        Said unknown = warmpath("drain", "worker-7");
        assertThat(unknown.status).isOne();
        assertThat(unknown.err).isEqualTo("warmpath: there is no worker 'worker-7': there are worker-1, worker-2\n");

        for (String command : List.of("drain", "undrain")) {
            Said refused = warmpath(command, "worker-1", "--token", "wrong");
            assertThat(refused.status).isOne();
            assertThat(refused.err).isEqualTo("warmpath: " + fleet.routerManagement(1)
                    + " refuses (401): the management token from --token is not this fleet's\n");
        }
        assertThat(gateway.readyWorkers()).hasSize(2);

        Said noFleet = run(List.of("workers"));
        assertThat(noFleet.status).isOne();
        assertThat(noFleet.err).startsWith("warmpath: no fleet is running here").hasLineCount(1);

        URI dead = URI.create("http://127.0.0.1:" + LocalFleet.freePort());
        for (List<String> call : List.of(List.of("workers", "--router", dead.toString()),
                List.of("explain", "--prompt", "hello", "--router", dead.toString()),
                List.of("bench", "--url", dead.toString()))) {
            Said said = run(call);
            assertThat(said.status).isOne();
            assertThat(said.err).startsWith("warmpath: nobody answers at http://127.0.0.1:").hasLineCount(1);
        }
        assertThat(bench("--concurrency", "0").status).isEqualTo(2);
        assertThat(bench("--load", "chatbots").err).contains("is none of agents, busy-clients, chatbot,");
    }

    @Test
    @Order(8)
    void on_a_terminal_a_load_that_is_interrupted_tells_what_there_is_so_far() throws Exception {
        try (var terminal = new Terminal("bench", "--url", fleet.routerUrl(1).toString(), "--scale", "0.1",
                "--requests", "100000")) {
            terminal.await(" requests, 0 failed");
            Await.until("some have been answered", () -> terminal.shown().matches("(?s).*[1-9][0-9]+ requests, 0 .*"));
            terminal.type(CTRL_C);
            assertThat(terminal.status()).isEqualTo(130);
            assertThat(terminal.shown()).contains("interrupted: this is what there was so far")
                    .containsPattern("requests +[0-9,]+ answered, 0 failed");
        }
    }

    @Test
    @Order(9)
    void top_ends_by_q_and_leaves_the_terminal_as_it_was() throws Exception {
        try (var terminal = new Terminal("top", "--interval", "60", "--router", fleet.routerUrl(1).toString())) {
            terminal.await("2 of 2 workers ready");
            terminal.type('q');
            assertThat(terminal.status()).isZero();
            assertThat(terminal.shown()).endsWith(USERS_PAGE);
        }
    }

    @Test
    @Order(10)
    void top_draws_again_and_again_outlives_its_router_and_gives_the_screen_back() throws Exception {
        try (var terminal = new Terminal("top", "--interval", "0.2", "--router", fleet.routerUrl(1).toString())) {
            terminal.await("2 of 2 workers ready");
            Await.until("it is drawn again", () -> terminal.shown().split("\033\\[H", -1).length > 5);
            assertThat(terminal.shown()).containsOnlyOnce(OWN_PAGE).doesNotContain(USERS_PAGE);
            for (String page : terminal.shown().split("\033\\[H", -1)) {
                assertThat(page.lines()).as("the terminal is 60 characters wide").allSatisfy(line ->
                        assertThat(line.replaceAll("\033\\[[0-9;?]*[A-Za-z]", "").strip()).hasSizeLessThan(61));
            }

            fleet.killRouter(1);
            terminal.await("not of now: nobody answers at ");
            terminal.type(CTRL_C);
            assertThat(terminal.status()).isEqualTo(130);
            assertThat(terminal.shown()).endsWith(USERS_PAGE);
        }
    }

    private static double requestsAnswered() {
        return Gateway.meters(fleet.routerManagement(1))
                .filter(line -> line.startsWith("warmpath_requests_total{") && line.contains("outcome=\"answered\""))
                .mapToDouble(Gateway::value).sum();
    }

    /** On the fleet. */
    private static Said warmpath(String... arguments) throws IOException, InterruptedException {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.addAll(List.of("--router", fleet.routerUrl(1).toString()));
        return run(all);
    }

    private static Said bench(String... arguments) throws IOException, InterruptedException {
        List<String> all = new ArrayList<>(List.of("bench", "--json", "--url", fleet.routerUrl(1).toString()));
        all.addAll(List.of(arguments));
        return run(all);
    }

    private static Said run(List<String> arguments) throws IOException, InterruptedException {
        Path out = Files.createTempFile(state, "out", "");
        Path err = Files.createTempFile(state, "err", "");
        List<String> command = new ArrayList<>(program());
        command.addAll(arguments);
        var builder = new ProcessBuilder(command).redirectOutput(out.toFile()).redirectError(err.toFile());
        builder.environment().put("WARMPATH_STATE", state.toString());
        builder.environment().put("WARMPATH_MANAGEMENT_TOKEN", TOKEN);
        int status = builder.start().waitFor();
        return new Said(status, Files.readString(out), Files.readString(err));
    }

    private static List<String> program() {
        return List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC", "-Dstdout.encoding=UTF-8", "-Dstderr.encoding=UTF-8", "-jar", PROGRAM.toString());
    }

    /** The command on a terminal of 60 characters and 20 lines, of which all is kept that it shows. */
    private static final class Terminal implements AutoCloseable {

        private final Process script;
        private final ByteArrayOutputStream shown = new ByteArrayOutputStream();
        private final Thread reader;

        Terminal(String... arguments) throws IOException {
            assumeTrue(Command.isInstalled("script"), "no script (of util-linux) that makes a terminal");
            String command = "stty cols 60 rows 20; exec " + Stream.concat(program().stream(),
                    List.of(arguments).stream()).map(word -> "'" + word + "'").collect(Collectors.joining(" "));
            var builder = new ProcessBuilder("script", "--quiet", "--return", "--command", command, "/dev/null")
                    .redirectErrorStream(true);
            builder.environment().put("WARMPATH_STATE", state.toString());
            builder.environment().put("TERM", "xterm");
            builder.environment().put("SHELL", "/bin/sh");
            script = builder.start();
            reader = Thread.ofVirtual().start(this::read);
        }

        private void read() {
            byte[] buffer = new byte[8_192];
            try (InputStream in = script.getInputStream()) {
                for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                    shown.write(buffer, 0, read);
                }
            } catch (IOException e) {
                // it has ended
            }
        }

        String shown() {
            return shown.toString(StandardCharsets.UTF_8);
        }

        void await(String text) {
            Await.until("the terminal shows '" + text + "': " + shown(), () -> {
                assertThat(script.isAlive() || shown().contains(text)).as(shown()).isTrue();
                return shown().contains(text);
            });
        }

        void type(int key) throws IOException {
            script.getOutputStream().write(key);
            script.getOutputStream().flush();
        }

        int status() throws InterruptedException {
            int status = script.waitFor();
            reader.join();
            return status;
        }

        @Override
        public void close() {
            script.descendants().forEach(ProcessHandle::destroy);
            script.destroy();
        }
    }
}
