package dev.warmpath.cli.look;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.terminal.Screen;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;

/** Each command against a real server that says what a router would. */
class LookCommandsTest {

    @TempDir
    Path state;
    private ScriptedRouter router;
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private String sentence = "";
    private Map<String, String> environment = Map.of();

    @BeforeEach
    void start() throws IOException {
        router = new ScriptedRouter();
    }

    @AfterEach
    void stop() {
        router.close();
    }

    @Test
    void workers_are_a_table_by_number_with_how_full_each_is() {
        assertThat(run("workers")).isZero();
        assertThat(lines().map(line -> line.replaceAll(" +", " "))).containsExactly(
                "worker state health grade model running waiting blocks in use hit credit indexed lease",
                "worker-2 ready healthy history tiny 0 0 ███░░░░░░░ 25/100 75 % 35 400 ms",
                "worker-10 draining healthy – tiny 2 0 ███░░░░░░░ 25/100 75 % 35 400 ms");
    }

    @Test
    void the_same_as_json_has_numbers_and_the_grade_of_the_index() {
        assertThat(run("workers", "--json")).isZero();
        JsonNode reading = HttpServer.JSON.readTree(out.toByteArray());

        assertThat(reading.path("index").path("entries").asInt()).isEqualTo(70);
        assertThat(reading.path("router").path("requests_in_flight").asInt()).isEqualTo(2);
        assertThat(reading.path("workers").get(0).path("usage").asDouble()).isEqualTo(0.25);
        assertThat(reading.path("workers").get(0).path("behind_batches").asInt()).isEqualTo(3);
        assertThat(reading.path("workers").get(1).path("grade").isNull()).isTrue();
    }

    @Test
    void without_a_terminal_top_prints_once_with_rates_of_one_interval() {
        assertThat(run("top", "--interval", "0.2")).isZero();
        assertThat(lines()).anyMatch(line -> line.startsWith("requests/s 0.0   under way 2   done 0   failed 0"))
                .anyMatch(line -> line.contains("1 of 2 workers ready")).noneMatch(line -> line.contains("\033"));
    }

    @Test
    void a_drain_is_told_to_every_router_with_the_token_of_the_state_folder_and_reads_are_without() throws IOException {
        Files.writeString(state.resolve("management-token"), "secret\n");
        try (var other = new ScriptedRouter()) {
            Files.writeString(state.resolve("fleet"), started("router", router) + started("router", other));
            for (ScriptedRouter each : List.of(router, other)) {
                each.says("PUT /internal/v1/workers/worker-2/drain", 204, "");
            }
            assertThat(run("drain", "worker-2", "--wait", "--router", other.url(), "--management", other.url()))
                    .isZero();
            assertThat(router.asked).contains("PUT /internal/v1/workers/worker-2/drain Bearer secret");
            assertThat(other.asked).contains("PUT /internal/v1/workers/worker-2/drain Bearer secret");
            assertThat(router.asked).contains("GET /actuator/workers")
                    .noneMatch(each -> each.startsWith("GET") && each.contains("secret"));
        }
    }

    @Test
    void a_token_goes_to_processes_of_its_fleet_and_elsewhere_if_the_caller_says_so() throws IOException {
        Files.writeString(state.resolve("management-token"), "secret\n");
        router.says("DELETE /internal/v1/workers/worker-2/drain", 401, "");
        router.says("POST /actuator/reset-cache", 401, "");

        assertThat(run("undrain", "worker-2")).isOne();
        assertThat(sentence).isEqualTo(router.url() + " refuses (401): the management token from "
                + state.resolve("management-token") + " was not sent there, for 'up' has not started it: use --token to"
                + " send one");
        run("reset-cache", "worker-2");
        assertThat(lines()).singleElement().satisfies(line -> assertThat(line).contains("was not sent there"));
        assertThat(router.asked).noneMatch(each -> each.contains("secret"));

        environment = Map.of("WARMPATH_MANAGEMENT_TOKEN", "mine");
        run("undrain", "worker-2");                                        // the router that the caller names
        run("reset-cache", "worker-2");                                    // an address that it has told
        assertThat(router.asked).contains("DELETE /internal/v1/workers/worker-2/drain Bearer mine")
                .doesNotContain("POST /actuator/reset-cache Bearer mine");

        run("reset-cache", "worker-2", "--token", "given");
        assertThat(router.asked).contains("POST /actuator/reset-cache Bearer given");
        Files.writeString(state.resolve("fleet"), started("worker", router));
        run("reset-cache", "worker-2");
        assertThat(router.asked).contains("POST /actuator/reset-cache Bearer mine");
    }

    /** A line of the fleet file by which its management port is the scripted one. */
    private static String started(String role, ScriptedRouter process) {
        int port = process.port() - 1_000;
        return role + " " + role + "-1 1 1 " + port + " http://127.0.0.1:" + port + "\n";
    }

    @Test
    void a_drain_that_one_router_did_not_hear_says_which_and_fails() throws IOException {
        router.says("PUT /internal/v1/workers/worker-2/drain", 204, "");
        String nobody = nobody();

        assertThat(run("drain", "worker-2", "--router", nobody, "--management", nobody)).isOne();
        assertThat(lines()).containsExactly(router.url() + ": nothing new goes to worker-2", nobody
                + ": nobody answers at " + nobody + ", where the router's management port should be: is it running, and"
                + " is this its address?");
    }

    @Test
    void a_wait_that_takes_too_long_ends_with_a_sentence() {
        router.says("PUT /internal/v1/workers/worker-10/drain", 204, "");

        assertThat(run("drain", "worker-10", "--wait", "--timeout", "0")).isOne();
        assertThat(sentence).isEqualTo("worker-10 gets nothing new, and still has requests after 0 s; workers shows how"
                + " many");
    }

    @Test
    void an_unknown_worker_is_answered_with_those_that_there_are() {
        assertThat(run("undrain", "worker-3")).isOne();
        assertThat(sentence).isEqualTo("there is no worker 'worker-3': there are worker-2, worker-10");
        assertThat(run("reset-cache", "worker-3")).isOne();
        assertThat(sentence).isEqualTo("there is no worker 'worker-3': there are worker-2, worker-10");
    }

    @Test
    void a_wrong_token_is_named_by_where_it_came_from() {
        router.says("DELETE /internal/v1/workers/worker-2/drain", 401, "");

        assertThat(run("undrain", "worker-2", "--token", "wrong")).isOne();
        assertThat(sentence).isEqualTo(router.url() + " refuses (401): the management token from --token is not this"
                + " fleet's");
        assertThat(run("undrain", "worker-2")).isOne();
        assertThat(sentence).endsWith("no management token was given: use --token, or WARMPATH_MANAGEMENT_TOKEN");
    }

    @Test
    void all_workers_forget_their_prefixes_and_one_beside_an_engine_says_that_it_cannot() {
        assertThat(run("reset-cache")).isOne();
        assertThat(lines()).allMatch(line -> line.endsWith("its engine keeps its cache to itself: reset it there"));

        out.reset();
        router.says("POST /actuator/reset-cache", 200, "{\"all\":false}");
        assertThat(run("reset-cache", "worker-2")).isZero();
        assertThat(lines()).containsExactly(
                "worker-2: has forgotten all prefixes but those that requests under way hold");
    }

    @Test
    void an_explanation_draws_the_prompts_blocks_and_of_each_candidate_what_it_holds_and_costs() {
        router.says("GET /v1/models", 200, "{\"data\":[{\"id\":\"tiny\"}]}");
        router.says("POST /v1/route", 200, """
                {"model":"tiny","worker":"worker-2","policy":"expected-first-token","reason":"prefix",
                 "prompt_tokens":83,"block_size":16,"matched_blocks":4,"predicted_cached_tokens":64,
                 "predicted_first_token_ms":12.5,"candidates":[
                  {"worker":"worker-2","matched_blocks":4,"promised_blocks":5,"grade":"exact",
                   "health":"healthy","cost":19,
                   "terms":{"uncached":19,"copy":0},"requests":1,"used_blocks":25,"block_count":100},
                  {"worker":"worker-4","matched_blocks":0,"promised_blocks":0,"grade":"exact",
                   "health":"healthy","cost":83,
                   "terms":{"uncached":83,"copy":0},"requests":0,"used_blocks":0,"block_count":100}],
                 "left_out":[{"worker":"worker-10","reason":"draining"}],
                 "shadow":{"policy":"lmetric","worker":"worker-4","extra_tokens":64}}""");

        assertThat(run("explain", "--prompt", "hello")).isZero();
        assertThat(lines()).containsExactly(
                "prompt    83 tokens of tiny: 5 blocks of 16 tokens, and 3 more",
                "chosen    worker-2 by expected-first-token: prefix, nobody holds more of the prompt",
                "expected  64 cached tokens there, first token after 13 ms",
                "",
                "prompt's blocks  one a character  held",
                "worker-2         ████▒             4/5",
                "worker-4         ·····             0/5",
                "",
                "candidate  cost  uncached  health   grade  requests  blocks in use",
                "worker-2     19        19  healthy  exact         1         25/100",
                "worker-4     83        83  healthy  exact         0          0/100",
                "left out  worker-10: draining",
                "shadow    lmetric would choose worker-4, with 64 more tokens to compute");
    }

    @Test
    void a_prompt_of_many_blocks_has_several_in_a_character_and_the_last_may_stand_for_fewer() {
        router.says("GET /v1/models", 200, "{\"data\":[{\"id\":\"tiny\"}]}");
        router.says("POST /v1/route", 200, """
                {"model":"tiny","worker":"w","policy":"p","reason":"turn","prompt_tokens":1936,"block_size":16,
                 "predicted_first_token_ms":null,"candidates":[
                 {"worker":"w","matched_blocks":4,"promised_blocks":4},{"worker":"v","matched_blocks":121}]}""");

        run("explain", "--prompt", "hello");
        assertThat(lines()).contains("prompt's blocks  3 a character                                 held",
                "w                █▒·······································    4/121",
                "v                " + "█".repeat(41) + "  121/121");
    }

    @Test
    void what_cannot_be_explained_is_a_sentence() throws IOException {
        router.says("POST /v1/route", 400, "{\"error\":{\"message\":\"'frog' is no field\"}}");
        Path file = Files.writeString(state.resolve("body.json"), "{\"model\":\"tiny\",\"frog\":1}");
        Path broken = Files.writeString(state.resolve("broken.json"), "[1,");

        run("explain", file.toString());
        assertThat(sentence).isEqualTo("the router says (400): 'frog' is no field");
        run("explain", broken.toString());
        assertThat(sentence).startsWith(broken + " is no JSON");
        run("explain", state.resolve("none").toString());
        assertThat(sentence).startsWith("cannot read " + state.resolve("none"));
        router.says("GET /actuator/decisions/gone", 200, "{\"decisions\":[]}");
        run("explain", "--request", "gone");
        assertThat(sentence).startsWith("no router remembers a request 'gone'");
    }

    @Test
    void what_a_server_says_steers_no_terminal_and_is_json_all_the_same() {
        router.says("GET /actuator/workers", 200, """
                {"workers":[{"id":"w\\u001b[2J\\u009b1m\\u202e","state":"ready","model":"t\\u00efny\\nmodel",
                 "problem":"a\\rb"}]}""");

        assertThat(run("workers")).isZero();
        assertThat(out.toString(StandardCharsets.UTF_8)).contains("w [2J 1m ", "t\u00efny model", "a b")
                .doesNotContainPattern("[\\p{Cc}\\p{Cf}&&[^\n]]");
        out.reset();
        assertThat(run("workers", "--json")).isZero();
        assertThat(out.toString(StandardCharsets.UTF_8)).containsPattern("\\A\\p{ASCII}+\\z");
        assertThat(HttpServer.JSON.readTree(out.toByteArray()).path("workers").get(0).path("id").asString())
                .isEqualTo("w\u001b[2J\u009b1m\u202e");
    }

    @Test
    void a_worker_whose_address_is_nonsense_is_a_line() {
        router.says("GET /actuator/workers", 200, "{\"workers\":[{\"id\":\"w\",\"url\":\"http://a b\"}]}");

        assertThat(run("reset-cache")).isOne();
        assertThat(lines()).containsExactly("w: what the router says of it, http://a b is no URL of a server: write"
                + " http://HOST:PORT");
    }

    @Test
    void nonsense_and_no_fleet_are_sentences() {
        router.says("GET /actuator/prefixindex", 200, "<html>" + "x".repeat(16 << 20));
        run("workers");
        assertThat(sentence).startsWith(router.url() + "/actuator/prefixindex is not what the router's management port"
                + " answers: '<html>xxx").hasSizeLessThan(400);

        assertThat(execute("workers")).isOne();
        assertThat(sentence).isEqualTo("no fleet is running here (" + state + " names none): start one by ./warmpath"
                + " up, or name a router by --router URL");
    }

    /** With the scripted router as the first. */
    private int run(String... arguments) {
        List<String> all = new ArrayList<>(Arrays.asList(arguments));
        all.addAll(List.of("--router", router.url(), "--management", router.url()));
        if (all.indexOf("--router") != all.lastIndexOf("--router")) {        // first, then, before the test's own
            all.subList(all.size() - 4, all.size()).clear();
            all.addAll(1, List.of("--router", router.url(), "--management", router.url()));
        }
        return execute(all.toArray(String[]::new));
    }

    private int execute(String... arguments) {
        var screen = new Screen(new PrintStream(out, true, StandardCharsets.UTF_8), /* terminal */ false, true);
        var line = new CommandLine(CommandLine.Model.CommandSpec.create());
        LookCommands.all(new Installation(state, state, environment), screen).forEach(line::addSubcommand);
        line.setExecutionExceptionHandler((failure, _, _) -> {
            if (failure instanceof CommandException) {
                sentence = failure.getMessage();
                return 1;
            }
            throw failure;
        });
        return line.execute(arguments);
    }

    private Stream<String> lines() {
        return out.toString(StandardCharsets.UTF_8).lines();
    }

    private static String nobody() throws IOException {
        try (var socket = new ServerSocket(0)) {
            return "http://127.0.0.1:" + socket.getLocalPort();
        }
    }
}
