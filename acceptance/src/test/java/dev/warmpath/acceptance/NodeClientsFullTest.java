package dev.warmpath.acceptance;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients for Node: a program in {@code src/test/clients/node} for each of them. */
@Tag("full")
class NodeClientsFullTest {

    private static ClientPrograms programs;
    private static ClientsFleet fleet;

    @BeforeAll
    static void start() {
        programs = ClientPrograms.install("node", List.of("node", "npm"), List.of("package-lock.json"),
                folder -> List.of(List.of("npm", "ci", "--no-audit", "--no-fund", "--prefix", folder.toString())));
        fleet = new ClientsFleet();
    }

    @AfterAll
    static void close() {
        if (fleet != null) {
            fleet.close();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"openai.mjs", "ai-sdk.mjs", "langchain.mjs"})
    void all_scenarios_hold_and_the_one_that_leaves_is_noticed(String program) {
        fleet.expectCancelled(() -> programs.run(fleet, Map.of(), "node", program));
    }
}
