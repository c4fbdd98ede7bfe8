package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.json.JsonMapper;

/**
 * Two routers and three workers are stopped and started again one after the other, while ten streams of 32 tokens begin
 * each second. Clients retry nothing. Before them stands what a load balancer is: it asks every router for its readiness
 * each second and sends to those that said yes the last time, in turn. Who is too busy to answer stays what it was.
 */
@Tag("full")
class RollingRestartTest {

    private static final int TOKENS = 32;

    private static final String SETTLE = "--warmpath.drain.settle=5s";

    @Test
    void a_rolling_restart_that_changes_the_fleets_token_fails_no_stream() throws Exception {
        String before = "--warmpath.fleet.token=before";
        List<String> changing = List.of("--warmpath.fleet.token=after", "--warmpath.fleet.previous-token=before");
        requireNoFailures(List.of(SETTLE, before), List.of(before),
                Stream.concat(Stream.of(SETTLE), changing.stream()).toList(), changing);
    }

    @Test
    void a_rolling_restart_fails_no_stream_if_threads_are_held_up_at_random(@TempDir Path folder) throws Exception {
        String pauses = PauseAgent.option(folder);
        List<String> routers = LocalFleet.patient(SETTLE, pauses);
        requireNoFailures(routers, List.of(pauses), routers, List.of(pauses));
    }

    /** @param routersAfter what routers are started with when they are started again, as workers with the last one */
    private static void requireNoFailures(List<String> routerSettings, List<String> workerSettings,
            List<String> routersAfter, List<String> workersAfter) throws Exception {
        try (var fleet = LocalFleet.start(2, 3, routerSettings, workerSettings);
                var load = new Load(fleet)) {
            load.awaitAnswers(50);
            fleet.changeSettings(routersAfter, workersAfter);
            for (int worker = 1; worker <= 3; worker++) {
                fleet.stopWorker(worker);
                fleet.restartWorker(worker);
                Await.until("three workers are ready again, with both routers",
                        () -> fleet.gateways().stream().allMatch(router -> router.readyWorkers().size() == 3));
            }
            for (int router = 1; router <= 2; router++) {
                fleet.stopRouter(router);
                fleet.restartRouter(router);
                Await.until("three workers are ready with both routers again",
                        () -> fleet.gateways().stream().allMatch(each -> each.readyWorkers().size() == 3));
                load.awaitReadyRouters(2);
            }
            load.awaitAnswers(load.answers.get() + 50);
            load.end();

            assertThat(load.failures).as("of %d streams", load.begun.get()).isEmpty();
            assertThat(load.answers.get()).isEqualTo(load.begun.get());
            System.out.printf("%d of %d streams had their %d tokens%n", load.answers.get(), load.begun.get(), TOKENS);
        }
    }

    /** Ten streams a second, by whatever router is ready. */
    private static final class Load implements AutoCloseable {

        private final List<URI> routers;
        private final List<URI> readiness;
        private final HttpClient http = HttpClient.newHttpClient();
        private final ScheduledExecutorService clock = Executors.newScheduledThreadPool(2);
        private final ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor();
        private final AtomicInteger begun = new AtomicInteger();
        private final AtomicInteger answers = new AtomicInteger();
        private final Queue<String> failures = new ConcurrentLinkedQueue<>();
        private final JsonMapper json = JsonMapper.builder().build();
        private volatile List<URI> ready = List.of();

        Load(LocalFleet fleet) throws InterruptedException {
            routers = List.of(fleet.routerUrl(1), fleet.routerUrl(2));
            readiness = List.of(fleet.routerManagement(1), fleet.routerManagement(2));
            clock.scheduleWithFixedDelay(this::ask, 0, 1, TimeUnit.SECONDS);
            awaitReadyRouters(2);
            clock.scheduleAtFixedRate(() -> clients.execute(this::stream), 0, 100, TimeUnit.MILLISECONDS);
        }

        private void ask() {
            List<URI> now = new ArrayList<>();
            for (int i = 0; i < routers.size(); i++) {
                URI router = routers.get(i);
                if (isReady(readiness.get(i).resolve("/actuator/health/readiness"), ready.contains(router))) {
                    now.add(router);
                }
            }
            ready = List.copyOf(now);
        }

        private boolean isReady(URI probe, boolean before) {
            try {
                return http.send(HttpRequest.newBuilder(probe).timeout(Duration.ofSeconds(1)).build(),
                        BodyHandlers.discarding()).statusCode() == 200;
            } catch (HttpTimeoutException e) {
                return before;
            } catch (IOException e) {
                return false;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            }
        }

        private void stream() {
            int number = begun.getAndIncrement();
            List<URI> choice = ready;
            if (choice.isEmpty()) {
                failed(number + ": no router was ready");
                return;
            }
            String body = "{\"model\":\"" + LocalFleet.MODEL + "\",\"prompt\":[" + (1 + number % 2_000)
                    + ",7,8,9],\"stream\":true,\"stream_options\":{\"include_usage\":true},"
                    + "\"ignore_eos\":true,\"max_tokens\":" + TOKENS + "}";
            HttpRequest request = HttpRequest.newBuilder(choice.get(number % choice.size()).resolve("/v1/completions"))
                    .header("content-type", "application/json").POST(HttpRequest.BodyPublishers.ofString(body)).build();
            try (Stream<String> lines = http.send(request, BodyHandlers.ofLines()).body()) {
                List<String> events = lines.filter(line -> line.startsWith("data: ")).map(line -> line.substring(6))
                        .toList();
                if (isWhole(events)) {
                    answers.incrementAndGet();
                } else {
                    failed(number + " at " + request.uri() + ": " + events);
                }
            } catch (Exception e) {
                failed(number + " at " + request.uri() + ": " + e);
            }
        }

        /** The last two events are the count of tokens, as the router sent them, and the end. */
        private boolean isWhole(List<String> events) {
            return events.size() > 2 && events.getLast().equals("[DONE]")
                    && json.readTree(events.get(events.size() - 2)).path("usage").path("completion_tokens").asInt(0)
                            == TOKENS;
        }

        /** Told at once: the processes' logs are then still at that place. */
        private void failed(String sentence) {
            System.out.println("stream " + sentence);
            failures.add(sentence);
        }

        void awaitReadyRouters(int count) {
            Await.until(count + " routers are ready for the load balancer", () -> ready.size() == count);
        }

        void awaitAnswers(int count) {
            Await.until(count + " streams have ended", () -> answers.get() + failures.size() >= count);
        }

        void end() throws InterruptedException {
            clock.shutdownNow();
            clients.close();
        }

        @Override
        public void close() {
            clock.shutdownNow();
            clients.shutdownNow();
            http.shutdownNow();
        }
    }
}
