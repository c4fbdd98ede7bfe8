package dev.warmpath.cli.doctor;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import dev.warmpath.cli.build.Ending;
import dev.warmpath.cli.build.Programs;
import dev.warmpath.cli.fleet.FleetFile;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.fleet.Management;
import dev.warmpath.cli.fleet.ProcessTable;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A fleet whose processes are this one, and whose router and workers are one server that says what a test wants. */
class FleetDoctorTest {

    @TempDir
    Path state;
    private HttpServer server;
    private Duration clockBehind = Duration.ZERO;
    private String revisionOfSecond = "aaaa";
    private @Nullable String urlOfSecond;
    private List<String> commits = List.of("abc");
    private int asked;
    private String meters = "";
    private final List<String> found = new ArrayList<>();

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
        server.createContext("/", exchange -> {
            try (exchange) {
                String path = exchange.getRequestURI().getPath();
                byte[] body = body(path).getBytes(UTF_8);
                exchange.sendResponseHeaders(path.equals("/time") ? 404 : 200, body.length);
                exchange.getResponseBody().write(body);
            }
        });
        server.start();
        long self = ProcessHandle.current().pid();
        int port = server.getAddress().getPort() - 1000;
        Files.writeString(state.resolve("fleet"), """
                router router %1$d %2$s %3$d http://127.0.0.1:%3$d
                worker worker-1 %1$d %2$s %3$d http://127.0.0.1:%3$d
                worker worker-2 1 1 %3$d http://127.0.0.1:%3$d
                """.formatted(self, ProcessTable.startedAt(self), port));
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    private String body(String path) {
        String url = "http://127.0.0.1:" + server.getAddress().getPort();
        return switch (path) {
            case "/time" -> "{\"timestamp\":\"" + Instant.now().minus(clockBehind) + "\",\"status\":404}";
            case "/actuator/info" -> "{\"build\":{\"commit\":\"" + commits.get(asked++ % commits.size()) + "\"}}";
            case "/actuator/prometheus" -> meters;
            default -> """
                    {"workers":[{"id":"worker-1","url":"%1$s","model":"tiny","revision":"aaaa","state":"ready"},
                    {"id":"worker-2","url":"%3$s","model":"tiny","revision":"%2$s","state":"ready"}]}
                    """.formatted(url, revisionOfSecond, urlOfSecond == null ? url : urlOfSecond);
        };
    }

    private List<String> look() {
        FleetFile fleet = FleetFile.read(state);
        assertThat(fleet).isNotNull();
        try (var management = new Management()) {
            new FleetDoctor(management, finding -> found.add(finding.line())).look(fleet);
        }
        return found;
    }

    @Test
    void a_worker_that_has_ended_is_missing_and_how_it_comes_back_is_told() {
        assertThat(look()).contains("  missing  worker-2 has ended: ./warmpath logs worker-2 says why, ./warmpath "
                + "restart worker-2 brings it back", "  ok       all workers of tiny have revision aaaa",
                "  ok       all processes are of the same build", "  ok       clocks of 3 processes agree within 2 s");
    }

    @Test
    void a_cache_that_finds_half_of_what_it_could_and_a_pool_that_preempts_are_told_with_what_to_set() {
        meters = """
                warmpath_kv_blocks 1000.0
                warmpath_kv_blocks_cached 700.0
                warmpath_kv_usage_ratio 0.95
                warmpath_engine_preemptions_sequences_total{mode="recompute"} 3.0
                warmpath_prefix_cache_queries_blocks_total 5000.0
                warmpath_prefix_cache_hits_blocks_total 2000.0
                warmpath_prompt_tokens_total{model="tiny"} 100000.0
                warmpath_fleet_cached_tokens_total{model="tiny"} 80000.0
                warmpath_cached_tokens_total{model="tiny"} 40000.0
                """;
        assertThat(look()).anySatisfy(line -> assertThat(line).startsWith("  warning  40.0 % of prompts' blocks were"
                + " found cached: 40.0 % were found, and 80.0 % could be")).anySatisfy(line -> assertThat(line)
                .startsWith(
                        "  warning  the pool of worker-1 preempts requests, which are computed again: 95 % of 1,000"
                        + " blocks"));
    }

    @Test
    void a_cache_that_does_well_and_one_that_was_hardly_asked_are_fine() {
        meters = "warmpath_kv_blocks 1000\nwarmpath_kv_usage_ratio 0.2\n"
                + "warmpath_prefix_cache_queries_blocks_total 12\n";
        assertThat(look()).contains("  ok       the cache was asked for 12 blocks so far, too few to tell how much it"
                + " finds", "  ok       the pool of worker-1 has room: 20 % of 1,000 blocks are in use");
        found.clear();
        meters = "warmpath_kv_blocks 1000\nwarmpath_kv_usage_ratio 0.87\nwarmpath_prefix_cache_queries_blocks_total"
                + " 5000\nwarmpath_prefix_cache_hits_blocks_total 4500\n";
        assertThat(look()).contains("  ok       90.0 % of prompts' blocks were found cached",
                "  ok       the pool of worker-1 is where it should be: 87 % of 1,000 blocks are in use");
    }

    @Test
    void caching_that_is_off_is_told() {
        meters = "warmpath_kv_blocks 1000\nwarmpath_prefix_cache_queries_blocks_total 5000\n";
        assertThat(look()).anySatisfy(line -> assertThat(line).contains("prefix caching is off: set"
                + " warmpath.kv.prefix-caching=true"));
    }

    @Test
    void two_revisions_are_a_warning() {
        revisionOfSecond = "bbbb";
        assertThat(look()).anySatisfy(line ->
                assertThat(line).startsWith("  warning  workers of tiny have 2 revisions, aaaa, bbbb"));
    }

    @Test
    void a_clock_an_hour_behind_is_told() {
        clockBehind = Duration.ofHours(1);
        assertThat(look()).anySatisfy(line -> assertThat(line)
                .startsWith("  missing  clocks differ from this machine's: router by 3").contains("NTP"));
    }

    @Test
    void redis_is_told_where_it_is_and_never_its_password() throws IOException {
        assertThat(redis("redis://user:s%2Bcret@127.0.0.1:PORT/0", Map.of(), "+OK", "+PONG"))
                .isEqualTo("*3 $4 AUTH $4 user $6 s+cret *1 $4 PING");
        assertThat(redis("redis://s+cret@127.0.0.1:PORT", Map.of(), "-WRONGPASS invalid"))
                .isEqualTo("*2 $4 AUTH $6 s+cret");
        assertThat(redis("redis://127.0.0.1:PORT", Map.of("WARMPATH_REDIS_PASSWORD", "s+cret"), "+OK", "-LOADING"))
                .isEqualTo("*2 $4 AUTH $6 s+cret *1 $4 PING");
        redis("redis://127.0.0.1:PORT", Map.of(), "-NOAUTH Authentication required.");
        redis("redis://127.0.0.1:PORT", Map.of(), "HTTP/1.1 400 Bad Request");
        new RedisDoctor(Map.of(), this::add).look("redis-sentinel://s+cret@127.0.0.1:1,127.0.0.1:2#master");
        assertThat(found).noneMatch(line -> line.contains("cret")).satisfiesExactly(
                line -> assertThat(line).startsWith("  ok       Redis answers at 127.0.0.1:"),
                line -> assertThat(line).startsWith("  missing  Redis at 127.0.0.1:")
                        .contains(" does not take user and password: -WRONGPASS invalid; "),
                line -> assertThat(line).startsWith("  warning  ").endsWith(" answers PING by '-LOADING'"),
                line -> assertThat(line).contains(" asks for a password: set WARMPATH_REDIS_PASSWORD"),
                line -> assertThat(line).endsWith(" answers PING by 'HTTP/1.1 400 Bad Request'"),
                line -> assertThat(line).startsWith("  missing  nobody answers at 127.0.0.1:1,"),
                line -> assertThat(line).startsWith("  missing  nobody answers at 127.0.0.1:2,"));
    }

    /** @return what a server that gives these answers, one after each command, was asked */
    private String redis(String uri, Map<String, String> environment, String... answers) throws IOException {
        var asked = new StringBuilder();
        try (var redis = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Thread looks = Thread.ofVirtual().start(() ->
                    new RedisDoctor(environment, this::add).look(uri.replace("PORT", "" + redis.getLocalPort())));
            try (var caller = redis.accept()) {
                var reader = new BufferedReader(new InputStreamReader(caller.getInputStream(), UTF_8));
                for (String answer : answers) {
                    String count = reader.readLine();
                    asked.append(count).append(' ');
                    for (int i = 0; i < 2 * Integer.parseInt(count.substring(1)); i++) {
                        asked.append(reader.readLine()).append(' ');
                    }
                    caller.getOutputStream().write((answer + "\r\n").getBytes(UTF_8));
                }
                looks.join();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
        return asked.toString().strip();
    }

    @Test
    void a_worker_whose_address_is_none_is_told_and_the_rest_goes_on() {
        urlOfSecond = "some where";
        assertThat(look()).contains("  warning  worker-2 is known by an address that is none: 'some where'; see its "
                + "warmpath.worker.base-url", "  ok       clocks of 2 processes agree within 2 s");
    }

    @Test
    void processes_of_two_builds_are_told_how_they_become_one() {
        commits = List.of("abc", "def");
        assertThat(look()).anySatisfy(line -> assertThat(line)
                .startsWith("  warning  processes are of different builds")
                .endsWith("; ./warmpath down, then up, starts all from what is built now"));
    }

    @Test
    void a_fleet_of_which_nobody_lives_is_no_fleet_that_was_never_started() throws IOException {
        Files.writeString(state.resolve("fleet"), """
                router router 1 1 8080 http://127.0.0.1:8080
                worker worker-1 1 1 8081 http://127.0.0.1:8081
                """);
        var installation = new Installation(Path.of(".."), state, Map.of());
        new Doctor(installation, Programs.here(new Ending(), installation), this::add).examine(63_000);
        assertThat(found).contains("  missing  all processes of the fleet have ended: router, worker-1; ./warmpath "
                + "logs ID says why, ./warmpath up starts a new one");
    }

    private void add(Finding finding) {
        found.add(finding.line());
    }
}
