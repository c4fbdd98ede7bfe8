package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Real routers before modelled workers of a known capacity, in open loop: requests come when they come, whether others
 * are answered or not. Counts and ratios are asserted, times are printed. System property {@code overload.seconds}: how
 * long each phase lasts, 60 unless set. {@code benchmarks/results/overload.md} has a table.
 */
@Tag("full")
class OverloadFullTest {

    private static final int PHASE_SECONDS = Integer.getInteger("overload.seconds", 60);
    private static final int PROMPT_TOKENS = 250;
    private static final Path WORKER_LOG = Path.of("target", "modelled-workers.log");

    private final HttpClient http = HttpClient.newHttpClient();
    private final SplittableRandom random = new SplittableRandom(20261122);
    private final Queue<Outcome> outcomes = new ConcurrentLinkedQueue<>();
    private final AtomicInteger open = new AtomicInteger();
    private final AtomicInteger begun = new AtomicInteger();
    private LocalFleet fleet;
    private Process workers;

    /** @param firstNanos until the first text; 0 = none came. @param status 200 only if the answer has its end */
    private record Outcome(int phase, int status, long startNanos, long firstNanos, long endNanos) {}

    @AfterEach
    void stop() throws IOException, InterruptedException {
        if (workers != null) {
            workers.getOutputStream().close();
            workers.waitFor();
        }
        if (fleet != null) {
            fleet.close();
        }
    }

    /** Four workers, 8 sequences each, 20 to 60 tokens 100 ms apart behind 250 ms of prompt: 7.5 answers a second. */
    @ParameterizedTest(name = "{0} routers")
    @ValueSource(ints = {1, 4})
    void five_times_the_capacity_costs_refusals_and_no_answers_no_leases_and_no_memory(int routers) throws Exception {
        start(routers, 4, 8, 1_000, 100);
        double capacity = 4 * 8 / 4.25;
        double[] load = {0.9, 3, 5, 0.9};
        long[] heap = new long[load.length];
        System.out.println("phase;second;offered;answered;refused;other;ttft p50 ms;ttft p99 ms;refusal p99 ms;cpu %");
        for (int phase = 0; phase < load.length; phase++) {
            offer(phase, load[phase] * capacity, Duration.ofSeconds(PHASE_SECONDS));
            heap[phase] = heapAfterCollection();
        }
        Await.until("all requests have ended", () -> open.get() == 0);
        for (int phase = 0; phase < load.length; phase++) {
            System.out.printf("%d routers, phase %d, %.1f x capacity: %s, heap %d KiB%n", routers, phase, load[phase],
                    summary(phase), heap[phase] >> 10);
        }
        System.out.println("answers a second: " + IntStream.range(0, load.length)
                .mapToObj(phase -> "%.2f".formatted(answeredPerSecond(phase))).toList());

        assertThat(outcomes.stream().map(Outcome::status).distinct()).containsOnly(200, 503);
        assertThat(leasesLost()).isZero();
        assertThat(count(0, 503)).isLessThan(count(0, 200) / 20);
        assertThat(count(2, 503)).isGreaterThan(count(2, 200));
        double peak = IntStream.range(0, load.length).mapToDouble(this::answeredPerSecond).max().orElseThrow();
        assertThat(answeredPerSecond(2)).isGreaterThan(0.95 * peak).isGreaterThan(0.9 * capacity);
        assertThat(LongStream.of(heap).max().orElseThrow()).as("%s bytes", Arrays.toString(heap))
                .isLessThan(LongStream.of(heap).min().orElseThrow() * 5 / 4);
    }

    /** Eight workers, 400 sequences each, a token each 200 ms: 15,000 tokens a second at most. */
    @Test
    void three_thousand_slow_streams_lose_no_lease_and_none_is_answered_with_an_error() throws Exception {
        start(1, 8, 400, 1_000_000, 200);
        int streams = 3_000;
        for (int i = 0; i < streams; i++) {
            send(0, 16, 150);
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(3));
        }
        Await.until("all streams have ended", () -> open.get() == 0);
        System.out.println("3,000 slow streams: " + summary(0) + ", cpu of the router "
                + fleet.routerProcess().info().totalCpuDuration().orElseThrow().toMillis() + " ms");

        assertThat(leasesLost()).isZero();
        assertThat(count(0, 200)).isEqualTo(streams);
    }

    @Test
    void a_router_that_stood_still_for_eight_seconds_finds_its_leases_as_it_left_them() throws Exception {
        start(1, 2, 8, 1_000, 100);
        for (int i = 0; i < 8; i++) {
            send(0, PROMPT_TOKENS, 40);
        }
        Await.until("each answer has its first token", () -> begun.get() == 8);
        signal("STOP");
        Thread.sleep(8_000);
        signal("CONT");
        for (int i = 0; i < 8; i++) {
            send(1, PROMPT_TOKENS, 5);
        }
        Await.until("all requests have ended", () -> open.get() == 0);
        Thread.sleep(6_000);                                       // a lease's time after it

        assertThat(outcomes.stream().map(Outcome::status)).hasSize(16).containsOnly(200);
        assertThat(leasesLost()).isZero();
        assertThat(fleet.gateway().readyWorkers()).hasSize(2);
    }

    /** Stopped for 150 ms two or three times a second, as by a collector or a machine that has others to serve. */
    @Test
    void a_router_that_is_held_up_now_and_then_moves_and_breaks_none_of_700_streams() throws Exception {
        start(1, 4, 200, 1_000_000, 200, LocalFleet.LONG_WAIT);     // how many wait too long, is the machine's affair
        int streams = 2_800;
        int holds = 0;
        int sent = 0;
        while (sent < streams || open.get() > 0) {
            while (sent < streams && open.get() < 700) {
                send(0, 16, random.nextInt(20, 61));
                sent++;
            }
            Thread.sleep(250);
            signal("STOP");
            try {
                Thread.sleep(150);
            } finally {
                signal("CONT");
            }
            holds++;
        }
        System.out.println("held up " + holds + " times for 150 ms: " + summary(0));

        assertThat(outcomes.stream().map(Outcome::status)).hasSize(streams).containsOnly(200);
        assertThat(routerMeter("warmpath_dispatch_failures_total")).isZero();
        assertThat(routerMeter("warmpath_dispatch_retries_total")).isZero();
        assertThat(leasesLost()).isZero();
        assertThat(fleet.gateway().readyWorkers()).hasSize(4);
    }

    // ---- clients

    private void offer(int phase, double perSecond, Duration duration) throws Exception {
        long start = System.nanoTime();
        long end = start + duration.toNanos();
        long next = start;
        long second = start;
        long cpu = cpuMillis();
        int offered = 0;
        while (next < end) {
            LockSupport.parkNanos(next - System.nanoTime());
            if (System.nanoTime() >= next) {
                send(phase, PROMPT_TOKENS, random.nextInt(20, 61));
                offered++;
                next += (long) (-Math.log(1 - random.nextDouble()) * 1e9 / perSecond);
            }
            if (System.nanoTime() - second >= 1_000_000_000L) {
                print(phase, (second - start) / 1_000_000_000L, second, offered, cpuMillis() - cpu);
                second += 1_000_000_000L;
                cpu = cpuMillis();
                offered = 0;
            }
        }
    }

    private void send(int phase, int promptTokens, int maxTokens) {
        String prompt = IntStream.range(0, promptTokens).mapToObj(_ -> Integer.toString(random.nextInt(2_000)))
                .collect(Collectors.joining(","));
        Gateway router = fleet.gateways().get(random.nextInt(fleet.gateways().size()));
        HttpRequest request = HttpRequest.newBuilder(router.uri("/v1/completions"))
                .header("content-type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString("{\"model\":\"" + LocalFleet.MODEL + "\",\"stream\":true,"
                        + "\"ignore_eos\":true,\"max_tokens\":" + maxTokens + ",\"prompt\":[" + prompt + "]}"))
                .build();
        open.incrementAndGet();
        long start = System.nanoTime();
        Thread.ofVirtual().start(() -> {
            try {
                outcomes.add(read(phase, start, http.send(request, BodyHandlers.ofInputStream())));
            } catch (IOException | InterruptedException e) {
                outcomes.add(new Outcome(phase, -1, start, 0, System.nanoTime()));
            } finally {
                open.decrementAndGet();
            }
        });
    }

    private Outcome read(int phase, long start, HttpResponse<InputStream> response) throws IOException {
        long first = 0;
        boolean ended = false;
        try (var lines = new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith("data: {") && first == 0) {
                    first = System.nanoTime();
                    begun.incrementAndGet();
                }
                ended |= line.equals("data: [DONE]");
            }
        }
        int status = response.statusCode() == 200 && !ended ? 0 : response.statusCode();
        return new Outcome(phase, status, start, status == 503 ? 0 : first, System.nanoTime());
    }

    // ---- figures

    private void print(int phase, long second, long fromNanos, int offered, long cpuMillis) {
        List<Outcome> ended = outcomes.stream().filter(each -> each.endNanos - fromNanos >= 0).toList();
        System.out.printf("%d;%d;%d;%d;%d;%d;%d;%d;%d;%d%n", phase, second, offered,
                ended.stream().filter(each -> each.status == 200).count(),
                ended.stream().filter(each -> each.status == 503).count(),
                ended.stream().filter(each -> each.status != 200 && each.status != 503).count(),
                firstMillis(ended, 50), firstMillis(ended, 99), refusalMillis(ended, 99), cpuMillis / 10);
    }

    private String summary(int phase) {
        List<Outcome> all = outcomes.stream().filter(each -> each.phase == phase).toList();
        return "offered %d, answered %d, refused %d, other %d, first token p50 %d ms p99 %d ms, refusal p50 %d ms p99 %d ms"
                .formatted(all.size(), count(phase, 200), count(phase, 503),
                        all.size() - count(phase, 200) - count(phase, 503), firstMillis(all, 50), firstMillis(all, 99),
                        refusalMillis(all, 50), refusalMillis(all, 99));
    }

    private int count(int phase, int status) {
        return (int) outcomes.stream().filter(each -> each.phase == phase && each.status == status).count();
    }

    /** Of the answers that ended while this phase's requests came, the first fifth of the time left out. */
    private double answeredPerSecond(int phase) {
        long from = outcomes.stream().filter(each -> each.phase == phase).mapToLong(Outcome::startNanos).min()
                .orElseThrow();
        long to = from + TimeUnit.SECONDS.toNanos(PHASE_SECONDS);
        long settled = from + (to - from) / 5;
        return outcomes.stream().filter(each -> each.status == 200 && each.endNanos - settled >= 0
                && each.endNanos - to < 0).count() / ((to - settled) / 1e9);
    }

    private static long firstMillis(List<Outcome> of, int percent) {
        return percentile(of.stream().filter(each -> each.status == 200).mapToLong(each ->
                each.firstNanos - each.startNanos).sorted().toArray(), percent);
    }

    private static long refusalMillis(List<Outcome> of, int percent) {
        return percentile(of.stream().filter(each -> each.status == 503).mapToLong(each ->
                each.endNanos - each.startNanos).sorted().toArray(), percent);
    }

    private static long percentile(long[] sortedNanos, int percent) {
        return sortedNanos.length == 0 ? 0
                : TimeUnit.NANOSECONDS.toMillis(sortedNanos[Math.min(sortedNanos.length - 1,
                        sortedNanos.length * percent / 100)]);
    }

    // ---- processes

    private void start(int routers, int count, int sequences, int promptTokensPerSecond, int millisPerToken,
            String... routerSettings) throws IOException {
        fleet = LocalFleet.start(routers, 0, List.of(routerSettings), List.of());
        Files.deleteIfExists(WORKER_LOG);
        int port = LocalFleet.freePortRange(1, count) + 1;
        String managements = IntStream.rangeClosed(1, routers)
                .mapToObj(router -> fleet.routerManagement(router).toString()).collect(Collectors.joining(","));
        workers = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC", "-Xmx256m",
                "-cp", System.getProperty("java.class.path"), ModelledWorkers.class.getName(),
                managements, Integer.toString(port), Integer.toString(count),
                Integer.toString(sequences), Integer.toString(promptTokensPerSecond), Integer.toString(millisPerToken))
                .redirectErrorStream(true).redirectOutput(WORKER_LOG.toFile()).start();
        Await.until("the modelled workers are ready", () -> {
            assertThat(workers.isAlive()).as("see " + WORKER_LOG.toAbsolutePath()).isTrue();
            return fleet.gateways().stream().allMatch(router -> router.readyWorkers().size() == count);
        });
    }

    private static long leasesLost() throws IOException {
        return Files.readAllLines(WORKER_LOG).stream().filter(line -> line.startsWith(ModelledWorkers.LEASE_LOST))
                .count();
    }

    private void signal(String name) throws IOException, InterruptedException {
        int status = new ProcessBuilder("kill", "-s", name, Long.toString(fleet.routerProcess().pid())).inheritIO()
                .start().waitFor();
        assertThat(status).isZero();
    }

    private long cpuMillis() {
        return fleet.routerProcess().info().totalCpuDuration().orElse(Duration.ZERO).toMillis();
    }

    private long heapAfterCollection() throws IOException, InterruptedException {
        String pid = Long.toString(fleet.routerProcess().pid());
        String jcmd = Path.of(System.getProperty("java.home"), "bin", "jcmd").toString();
        new ProcessBuilder(jcmd, pid, "GC.run").redirectErrorStream(true).start().waitFor();
        return (long) routerMeter("jvm_memory_used_bytes{area=\"heap\"");
    }

    /** Sum over all lines that begin like this. */
    private double routerMeter(String beginning) throws IOException, InterruptedException {
        URI metrics = fleet.routerManagement(1).resolve("/actuator/prometheus");
        return http.send(HttpRequest.newBuilder(metrics).build(), BodyHandlers.ofString()).body().lines()
                .filter(line -> line.startsWith(beginning))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ')))).sum();
    }
}
