package dev.warmpath.acceptance;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.warmpath.acceptance.Dashboard.Panel;
import dev.warmpath.acceptance.Dashboard.Query;
import dev.warmpath.acceptance.Dashboard.Variable;
import dev.warmpath.acceptance.PrometheusProcess.Series;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.protocol.generate.StopConditions;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/**
 * The chart's dashboards, asked of a real Prometheus that scrapes a fleet at work, with Redis. Their pictures in
 * {@code docs/images} are drawn from such a run, a longer one with more processes:
 * {@code mvn -pl acceptance -am verify -Dtest=DashboardsTest -Dsurefire.failIfNoSpecifiedTests=false}
 * {@code -Drenew=dashboards}.
 */
class DashboardsTest {

    private static final boolean IS_RENEWAL = "dashboards".equals(System.getProperty("renew"));
    private static final Path PICTURES = LocalFleet.ROOT.resolve("docs/images");
    private static final int ROUTERS = IS_RENEWAL ? 2 : 1;
    private static final int WORKERS = IS_RENEWAL ? 3 : 2;
    private static final int CLIENTS = 12;
    /** A pool that conversations fill, so that blocks are evicted and sequences give way. */
    private static final int BLOCKS = 160;
    /** Requests at once to one worker. */
    private static final int CROWD = 16;
    /** Some 1,200 tokens: more than is encoded where it arrives. */
    private static final String AT_LENGTH = " the key".repeat(600);
    private static final int TURNS_A_ROUND = IS_RENEWAL ? 200 : 60;
    private static final int ROUNDS_FOR_PICTURES = 8;
    /** Without what a panel asks for by then there is none. */
    private static final int MOST_ROUNDS = 40;
    /** Longer than a laptop's time between two scrapes that are late. */
    private static final String RATE = "15s";

    private static final JsonMapper JSON = JsonMapper.builder().build();

    private static RedisProcess redis;
    private static LocalFleet fleet;
    private static List<URI> routers;
    private static List<URI> workers;

    @BeforeAll
    static void start() {
        boolean isThere = Command.isInstalled("prometheus") && Command.isInstalled("promtool");
        if (!isThere) {
            System.err.println("LEFT OUT: dashboards, for there is no prometheus on the PATH");
        }
        assumeTrue(isThere, "no prometheus on the PATH");
        redis = new RedisProcess(RedisProcess.bundled(), LocalFleet.freePort()).start();
        String uri = "--warmpath.redis.uri=" + redis.uri();
        fleet = LocalFleet.start(ROUTERS, WORKERS,
                LocalFleet.patient(uri, "-Xmn16m", "--warmpath.routing.shadow=least-requests"),
                List.of(uri, "--warmpath.kv.block-count=" + BLOCKS, "--warmpath.kv.swap-space=4MB", "-Xmn16m"));
        routers = IntStream.rangeClosed(1, ROUTERS).mapToObj(fleet::routerManagement).toList();
        workers = IntStream.rangeClosed(1, WORKERS).mapToObj(fleet::workerManagement).toList();
    }

    @AfterAll
    static void stop() {
        if (fleet != null) {
            fleet.close();
        }
        if (redis != null) {
            redis.close();
        }
    }

    @Test
    void every_query_of_every_dashboard_finds_series_of_a_fleet_at_work() throws IOException {
        List<Dashboard> dashboards = Dashboard.all();
        try (var prometheus = new PrometheusProcess(routers, workers)) {
            double begin = now();
            List<String> empty = new ArrayList<>();
            for (int round = 1; round <= MOST_ROUNDS; round++) {
                work(round);
                empty = emptyQueries(dashboards, prometheus, begin);
                if (empty.isEmpty() && (!IS_RENEWAL || round >= ROUNDS_FOR_PICTURES)) {
                    break;
                }
            }
            assertThat(empty).as("queries without a series").isEmpty();

            for (Dashboard board : dashboards) {
                Map<String, String> all = all(board, prometheus);
                assertThat(all).containsEntry("namespace", PrometheusProcess.NAMESPACE).doesNotContainValue("");
                board.marks().forEach(mark ->
                        prometheus.range(Dashboard.filled(mark, all), begin, now(), 1));    // it throws where it cannot
            }
            if (IS_RENEWAL) {
                for (Dashboard board : dashboards) {
                    Files.writeString(Files.createDirectories(PICTURES).resolve("dashboard-" + board.name() + ".svg"),
                            DashboardPicture.draw(board,
                                    panel -> seriesOf(panel, all(board, prometheus), prometheus, begin)));
                }
            }
        }
    }

    @Test
    void panels_have_numbers_and_places_of_their_own_and_say_in_which_unit_they_count() throws IOException {
        for (Dashboard board : Dashboard.all()) {
            List<Panel> panels = board.panels();
            assertThat(panels).as(board.name()).hasSizeGreaterThan(15)
                    .allSatisfy(panel -> assertThat(panel.unit()).as(panel.title()).isNotEmpty());
            assertThat(panels).extracting(Panel::title).doesNotHaveDuplicates();
            assertThat(panels).extracting(Panel::id).doesNotHaveDuplicates();
            Set<Panel> before = new HashSet<>();
            for (Panel panel : panels) {
                assertThat(before).as(panel.title()).noneMatch(other -> other.place().overlaps(panel.place()));
                assertThat(panel.place().x() + panel.place().width()).isLessThanOrEqualTo(24);
                before.add(panel);
            }
        }
    }

    @Test
    void every_query_about_workers_asks_for_those_that_are_chosen() throws IOException {
        Dashboard workers = Dashboard.all().stream().filter(board -> board.name().equals("workers")).findFirst()
                .orElseThrow();

        assertThat(workers.panels()).flatExtracting(Panel::queries).extracting(Query::expression).hasSizeGreaterThan(30)
                .allMatch(asked -> asked.contains("instance=~\"$worker\""));
        assertThat(workers.variables()).filteredOn(variable -> variable.name().equals("worker")).singleElement()
                .satisfies(variable -> assertThat(variable.selector())
                        .as("those that compute, and those beside engines")
                        .contains("warmpath_kv_blocks|warmpath_foreign_answers"));
    }

    @Test
    void meters_are_named_and_explained_as_promtool_wants_it_but_for_those_of_others() throws Exception {
        for (URI process : List.of(routers.getFirst(), workers.getFirst())) {
            var promtool = new ProcessBuilder("promtool", "check", "metrics").redirectErrorStream(true).start();
            byte[] page = page(process);
            assertThat(new String(page, UTF_8)).contains("\nwarmpath_");
            try (var out = promtool.getOutputStream()) {
                out.write(page);
            }
            List<String> complaints = new String(promtool.getInputStream().readAllBytes(), UTF_8).lines().toList();

            // Micrometer's and Spring's names are what those who know them look for
            assertThat(complaints).allMatch(line -> line.matches("(http|jvm|process|system)_.*"));
        }
    }

    /**
     * Conversations, some of them streamed, questions short and long, requests that are refused, and more than a worker
     * has blocks for.
     */
    private static void work(int round) {
        IntStream.rangeClosed(1, WORKERS).forEach(worker -> crowd(worker, round));
        new ConversationLoad(fleet.gateways(), CLIENTS, Duration.ofMillis(50), round).run(TURNS_A_ROUND);
        for (Gateway router : fleet.gateways()) {
            String question = "What is round " + round + "?";
            for (String asked : List.of(question, question + AT_LENGTH)) {
                assertThat(router.streamChat(List.of(Map.of("role", "user", "content", asked)))).contains("[DONE]");
            }
            assertThat(router.status("/v1/chat/completions", Map.of("model", "nobody's", "messages",
                    List.of(Map.of("role", "user", "content", "?"))))).isEqualTo(404);
        }
    }

    /** Prompts at once that fill the pool twice, as a second router may send them unknowingly: some wait for blocks. */
    private static void crowd(int worker, int round) {
        var alone = new Gateway(fleet.workerUrl(worker), fleet.workerManagement(worker));
        var tokens = new SplittableRandom(round);
        List<Callable<Integer>> requests = new ArrayList<>();
        for (int i = 0; i < CROWD; i++) {
            int[] prompt = tokens.ints(2 * BLOCKS / CROWD * LocalFleet.BLOCK_SIZE, 0, 2_000).toArray();
            Map<String, ?> request = JSON.convertValue(GenerateRequest.of("crowd-" + i, prompt,
                    SamplingParameters.GREEDY, StopConditions.pastTheEnd(40)), new TypeReference<>() {});
            requests.add(() -> alone.status(Protocol.GENERATE_PATH, request));
        }
        try (var clients = Executors.newVirtualThreadPerTaskExecutor()) {
            assertThat(clients.invokeAll(requests)).allSatisfy(each -> assertThat(each.resultNow()).isEqualTo(200));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while a worker answers", e);
        }
    }

    private static List<String> emptyQueries(List<Dashboard> dashboards, PrometheusProcess prometheus, double begin)
            throws IOException {
        Predicate<String> excused = excused();
        List<String> empty = new ArrayList<>();
        for (Dashboard board : dashboards) {
            Map<String, String> all = all(board, prometheus);
            for (Panel panel : board.panels()) {
                seriesOf(panel, all, prometheus, begin).forEach((query, series) -> {
                    if (series.stream().allMatch(one -> one.values().isEmpty()) && !excused.test(query.expression())) {
                        empty.add(board.title() + ", " + panel.title() + ": " + query.expression());
                    }
                });
            }
        }
        return empty;
    }

    /** What the variables stand for where everything is chosen: all values that they offer. */
    private static Map<String, String> all(Dashboard board, PrometheusProcess prometheus) {
        Map<String, String> all = new LinkedHashMap<>(Map.of("__rate_interval", RATE));
        for (Variable variable : board.variables()) {
            List<String> values = prometheus.labelValues(Dashboard.filled(variable.selector(), all), variable.label());
            all.put(variable.name(), String.join("|", values));
        }
        return all;
    }

    private static Map<Query, List<Series>> seriesOf(Panel panel, Map<String, String> chosen,
            PrometheusProcess prometheus, double begin) {
        double end = now();
        double step = Math.max(1, (end - begin) / 120);
        Map<Query, List<Series>> all = new LinkedHashMap<>();
        for (Query query : panel.queries()) {
            all.put(query, prometheus.range(Dashboard.filled(query.expression(), chosen), begin, end, step));
        }
        return all;
    }

    private static Predicate<String> excused() throws IOException {
        try (InputStream file = DashboardsTest.class.getResourceAsStream("/dashboards-excused.txt")) {
            Stream<String> lines = new String(file.readAllBytes(), UTF_8).lines().filter(line -> !line.startsWith("#"));
            return lines.map(line -> Pattern.compile(line.split(" +", 2)[0]).asPredicate())
                    .reduce(Predicate::or).orElseThrow();
        }
    }

    private static byte[] page(URI process) throws IOException, InterruptedException {
        return HttpClient.newHttpClient().send(HttpRequest.newBuilder(process.resolve("/actuator/prometheus")).build(),
                BodyHandlers.ofByteArray()).body();
    }

    private static double now() {
        return System.currentTimeMillis() / 1e3;
    }
}
