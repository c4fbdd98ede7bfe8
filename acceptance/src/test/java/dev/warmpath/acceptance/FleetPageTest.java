package dev.warmpath.acceptance;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The fleet page in a real browser, beside a real fleet: {@code src/test/clients/page/cases.mjs} has the cases.
 * Pictures of it are in {@code target/page} afterwards.
 */
class FleetPageTest {

    private static final String BROWSER = "chromium";
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
            "keyboard", "light", "dark", "phone", "leaves"})
    void the_page_does_what_its_case_says_without_an_error_or_a_foreign_request(String name) {
        programs.run(Map.of("PAGE_URL", fleet.routerManagement(1).toString(),
                "ROUTER_URL", fleet.routerUrl(1).toString(), "MODEL", LocalFleet.MODEL,
                "CHROMIUM", Command.find(BROWSER).toString(), "PICTURES", PICTURES.toString(),
                "WORKER_PID", Long.toString(fleet.workerProcess(2).pid())),
                "node", "cases.mjs", name);
    }
}
