package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A real router, a real worker, and clients that leave at any moment of an answer that would take a second or two. */
@Tag("full")
class LeavingClientsFullTest {

    private static final int LEAVERS = 1_000;
    private static final int AT_ONCE = 16;
    private static final int TOKENS = 1_800;
    private static final int LATEST_LEAVE_MILLIS = 150;

    private final HttpClient http = HttpClient.newHttpClient();

    @Test
    void when_1_000_clients_have_left_their_worker_computes_nothing_and_has_all_its_blocks() throws Exception {
        try (var fleet = LocalFleet.start(1, 1, List.of(LocalFleet.LONG_LEASE, LocalFleet.LONG_WAIT), List.of())) {
            URI worker = fleet.workerManagement(1);
            URI router = fleet.routerManagement(1);
            assertThat(meter(worker, "warmpath_kv_blocks_used ")).isZero();

            try (ExecutorService clients = Executors.newFixedThreadPool(AT_ONCE)) {
                var random = new SplittableRandom(7);
                for (int i = 0; i < LEAVERS; i++) {
                    SplittableRandom own = random.split();
                    clients.execute(() -> leave(fleet.routerUrl(1), own));
                }
            }

            Await.until("nothing runs or waits, and no block is used",
                    () -> meter(router, "warmpath_in_flight_requests") == 0 && isIdle(meters(worker)));
            double drawn = meter(worker, "warmpath_engine_generated_tokens_total ");
            double cancelled = meter(router, "warmpath_requests_total{api=\"completions\",model=\"" + LocalFleet.MODEL
                    + "\",outcome=\"cancelled\"");
            System.out.printf("%d left, %.0f of them known to the router; the worker drew %.1f tokens for each of %d%n",
                    LEAVERS, cancelled, drawn / LEAVERS, TOKENS);
            assertThat(meter(worker, "warmpath_kv_blocks_free ")).isEqualTo(meter(worker, "warmpath_kv_blocks "));
            assertThat(meter(worker, "warmpath_engine_prompt_pending_tokens ")).isZero();
            assertThat(cancelled).isGreaterThan(LEAVERS / 4);
            // had they been drawn to their end nothing would run in the end either
            assertThat(drawn).isLessThan(cancelled * TOKENS / 4);
            assertThat(meter(router, "warmpath_dispatch_failures_total")).isZero();
            assertThat(fleet.gateway().complete(new int[] {5, 6, 7}, 8).completionTokens()).isEqualTo(8);
        }
    }

    private static void leave(URI router, SplittableRandom random) {
        String body = "{\"model\":\"" + LocalFleet.MODEL + "\",\"stream\":" + random.nextBoolean()
                + ",\"ignore_eos\":true,\"max_tokens\":" + TOKENS + ",\"stop\":[\"never drawn\"],\"prompt\":"
                + random.ints(48, 10, 2_000).boxed().toList() + "}";
        try (Socket client = new Socket(router.getHost(), router.getPort())) {
            client.getOutputStream().write(("POST /v1/completions HTTP/1.1\r\nhost: r\r\n"
                    + "content-type: application/json\r\ncontent-length: " + body.length() + "\r\n\r\n" + body)
                    .getBytes(StandardCharsets.US_ASCII));
            if (random.nextBoolean()) {
                client.setSoLinger(true, 0);                       // leaves with a reset
            }
            Thread.sleep(random.nextInt(LATEST_LEAVE_MILLIS));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** By one reading: what waits in one may run in the next. */
    private static boolean isIdle(List<String> meters) {
        return sum(meters, "warmpath_engine_running_sequences ") == 0
                && sum(meters, "warmpath_engine_waiting_sequences ") == 0
                && sum(meters, "warmpath_kv_blocks_used ") == 0;
    }

    private double meter(URI management, String beginning) {
        return sum(meters(management), beginning);
    }

    /** Over all lines that begin like this. */
    private static double sum(List<String> meters, String beginning) {
        return meters.stream().filter(line -> line.startsWith(beginning))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ')))).sum();
    }

    private List<String> meters(URI management) {
        HttpRequest request = HttpRequest.newBuilder(management.resolve("/actuator/prometheus")).build();
        try {
            return http.send(request, BodyHandlers.ofString()).body().lines().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
