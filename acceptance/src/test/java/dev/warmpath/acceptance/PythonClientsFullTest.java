package dev.warmpath.acceptance;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients for Python, and tools that measure servers: a program in {@code src/test/clients/python} for each. */
@Tag("full")
class PythonClientsFullTest {

    /** Nothing is looked for where models, data sets and prices are published; the tokenizer is the model's own. */
    private static final Map<String, String> ENVIRONMENT = Map.of("HF_HUB_OFFLINE", "1", "HF_DATASETS_OFFLINE", "1",
            "LITELLM_LOCAL_MODEL_COST_MAP", "True",
            "WARMPATH_TOKENIZER", LocalFleet.ROOT.resolve("models").resolve(LocalFleet.MODEL).toString());

    private static ClientPrograms programs;
    private static ClientsFleet fleet;

    @BeforeAll
    static void start() {
        programs = ClientPrograms.install("python", List.of("python3"), List.of("requirements.txt", "constraints.txt"),
                folder -> List.of(List.of("python3", "-m", "venv", "--clear", folder.resolve("venv").toString()),
                        List.of(folder.resolve("venv/bin/pip").toString(), "install", "--quiet",
                                "--disable-pip-version-check", "--requirement", folder + "/requirements.txt",
                                "--constraint", folder + "/constraints.txt")));
        fleet = new ClientsFleet();
    }

    @AfterAll
    static void close() {
        if (fleet != null) {
            fleet.close();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"openai_client.py", "litellm_client.py"})
    void all_scenarios_hold_and_the_one_that_leaves_is_noticed(String program) {
        fleet.expectCancelled(() -> run(program));
    }

    @ParameterizedTest
    @ValueSource(strings = {"lm_eval_client.py", "aiperf_load.py"})
    void a_tool_measures_the_fleet_to_its_end(String program) {
        run(program);
    }

    private static void run(String program) {
        Path python = programs.folder().resolve("venv/bin/python");
        programs.run(fleet, ENVIRONMENT, python.toString(), program);
    }
}
