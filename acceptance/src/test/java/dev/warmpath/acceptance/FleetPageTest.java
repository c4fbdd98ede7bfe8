package dev.warmpath.acceptance;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The fleet page in a real browser, beside a real fleet: {@code src/test/clients/page/cases.mjs} has the cases.
 * Pictures of it are in {@code target/page} afterwards.
 */
class FleetPageTest {

    private static final String BROWSER = "chromium";
    private static final String TOKEN = "of-these-operators";
    private static final long POLL_NANOS = 50_000_000;
    private static final Path PICTURES = Path.of("target", "page").toAbsolutePath();

    private static ClientPrograms programs;
    private static LocalFleet fleet;

    @BeforeAll
    static void start() throws IOException {
        programs = ClientPrograms.install("page", List.of("node", "npm", BROWSER), List.of("package-lock.json"),
                folder -> List.of(List.of("npm", "ci", "--no-audit", "--no-fund", "--prefix", folder.toString())));
        Files.createDirectories(PICTURES);
        fleet = LocalFleet.start(1, 2, LocalFleet.patient("--warmpath.live.demo=true"), List.of());
    }

    @AfterAll
    static void close() {
        if (fleet != null) {
            fleet.close();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"loads", "prompt", "decision", "step", "calculator", "prefixes", "hashes", "lost",
            "full", "keyboard", "light", "dark", "phone", "leaves"})
    void the_page_does_what_its_case_says_without_an_error_or_a_foreign_request(String name) {
        run(fleet, Map.of("WORKER_PID", Long.toString(fleet.workerProcess(2).pid())), name);
    }

    @Test
    void a_page_that_is_open_before_any_worker_learns_of_it_and_does_nothing_without_the_token(@TempDir Path folder)
            throws InterruptedException {
        Path opened = folder.resolve("opened");
        String token = "--warmpath.management.token=" + TOKEN;
        try (var guarded = LocalFleet.start(1, 0, LocalFleet.patient(token), List.of(token))) {
            Thread starter = Thread.startVirtualThread(() -> {
                while (!Files.exists(opened)) {
                    LockSupport.parkNanos(POLL_NANOS);
                    if (Thread.interrupted()) {
                        return;
                    }
                }
                guarded.addWorker();
            });
            try {
                run(guarded, Map.of("TOKEN", TOKEN, "OPENED", opened.toString()), "token");
            } finally {
                starter.interrupt();
                starter.join();
            }
        }
    }

    private static void run(LocalFleet fleet, Map<String, String> more, String name) {
        Map<String, String> environment = new HashMap<>(Map.of("PAGE_URL", fleet.routerManagement(1).toString(),
                "ROUTER_URL", fleet.routerUrl(1).toString(), "MODEL", LocalFleet.MODEL,
                "CHROMIUM", Command.find(BROWSER).toString(), "PICTURES", PICTURES.toString()));
        environment.putAll(more);
        programs.run(environment, "node", "cases.mjs", name);
    }
}
