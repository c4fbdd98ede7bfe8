package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Ten thousand requests leave nothing behind: not on the heaps, not in the block pool. */
@Tag("full")
class LiveHeapTest {

    private static final int WARM_UP_REQUESTS = 2_000;
    private static final int REQUESTS = 10_000;
    private static final int CLIENTS = 8;
    private static final long MOST_GROWTH_BYTES = 2 << 20;

    @Test
    void the_live_heap_grows_by_at_most_two_megabytes_between_the_2000th_and_the_10000th_request() throws Exception {
        try (var fleet = LocalFleet.start(1, 1, LocalFleet.patient(), List.of());
                var threads = Executors.newFixedThreadPool(CLIENTS)) {
            run(fleet.gateway(), threads, WARM_UP_REQUESTS, 1);
            long routerBefore = liveBytes(fleet.routerProcess());
            long workerBefore = liveBytes(fleet.workerProcess(1));

            run(fleet.gateway(), threads, REQUESTS - WARM_UP_REQUESTS, 2);
            Await.until("no block is in use",
                    () -> Gateway.meter(fleet.workerManagement(1), "warmpath_kv_blocks_used") == 0);
            long routerGrowth = liveBytes(fleet.routerProcess()) - routerBefore;
            long workerGrowth = liveBytes(fleet.workerProcess(1)) - workerBefore;

            System.out.printf("live heap: router %+d KiB, worker %+d KiB%n", routerGrowth >> 10, workerGrowth >> 10);
            assertThat(routerGrowth).isLessThanOrEqualTo(MOST_GROWTH_BYTES);
            assertThat(workerGrowth).isLessThanOrEqualTo(MOST_GROWTH_BYTES);
        }
    }

    private static void run(Gateway gateway, ExecutorService threads, int count, int seed)
            throws ExecutionException, InterruptedException {
        var clients = new Future<?>[CLIENTS];
        for (int client = 0; client < CLIENTS; client++) {
            var random = new SplittableRandom(seed * 1_000L + client);
            clients[client] = threads.submit(() -> {
                for (int i = 0; i < count / CLIENTS; i++) {
                    int[] prompt = random.ints(20 + random.nextInt(60), 0, 2_000).toArray();
                    assertThat(gateway.complete(prompt, 2).status()).isEqualTo(200);
                }
            });
        }
        for (Future<?> client : clients) {
            client.get();
        }
    }

    /** Bytes of live objects: the histogram collects garbage first. The smaller of two, since caches may just be full. */
    private static long liveBytes(ProcessHandle process) throws IOException, InterruptedException {
        return Math.min(histogramBytes(process), histogramBytes(process));
    }

    private static long histogramBytes(ProcessHandle process) throws IOException, InterruptedException {
        Process jcmd = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(),
                Long.toString(process.pid()), "GC.class_histogram").redirectErrorStream(true).start();
        String output = new String(jcmd.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(jcmd.waitFor()).as(output).isZero();
        String total = output.lines().filter(line -> line.startsWith("Total")).findFirst().orElseThrow();
        String[] columns = total.strip().split("\\s+");
        return Long.parseLong(columns[columns.length - 1]);
    }
}
