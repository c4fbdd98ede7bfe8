package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** What a fleet has written down, read by the planner: the program that the launcher starts, and no fleet beside it. */
class PlannedFleetTest {

    private static final int REQUESTS = 120;
    private static final int SYSTEM_PROMPTS = 3;
    /** Full ones of a prompt. */
    private static final int BLOCKS = 5;

    @TempDir
    Path folder;

    @Test
    void a_routers_log_is_decided_again_as_it_was_and_simulated_with_the_hits_that_it_had() throws IOException {
        Path log = folder.resolve("decisions.jsonl");
        long found = 0;
        try (LocalFleet fleet = LocalFleet.start(1, 2, LocalFleet.patient("--warmpath.decisions.file=" + log,
                "--warmpath.decisions.replay=true"), List.of())) {
            Gateway router = fleet.gateway();
            var random = new SplittableRandom(1);
            for (int i = 0; i < REQUESTS; i++) {
                Gateway.Answer answer = router.complete(prompt(random), /* most tokens */ 4);
                assertThat(answer.status()).isEqualTo(200);
                found += answer.cachedTokens() / LocalFleet.BLOCK_SIZE;
            }
            Await.until("all requests are written down", () -> lines(log) == REQUESTS);
        }

        JsonNode replay = plan("replay", log.toString(), "--json");
        JsonNode live = replay.path("policies").get(0);
        assertThat(live.path("policy").asString()).isEqualTo("default");
        assertThat(live.path("live").asInt()).isBetween(REQUESTS - 5, REQUESTS);
        assertThat(live.path("same_as_itself").asDouble()).isGreaterThanOrEqualTo(0.99);
        assertThat(replay.path("policies")).hasSize(13);

        JsonNode row = plan("simulate", log.toString(), "--workers", "2", "--policy", "default", "--cost",
                "tiny-on-a-processor", "--json").path("results").get(0);
        assertThat(row.path("requests").asInt()).isEqualTo(REQUESTS);
        assertThat(row.path("hit_rate").asDouble()).isCloseTo(found / (double) (REQUESTS * BLOCKS), within(0.02));
        assertThat(plan("analyze", log.toString(), "--json").path("blocks").path("total").asInt())
                .isEqualTo(REQUESTS * BLOCKS);
    }

    /** One of three beginnings of four blocks, a block of its own, and some tokens more. */
    private static int[] prompt(SplittableRandom random) {
        int system = random.nextInt(SYSTEM_PROMPTS);
        return IntStream.range(0, 88).map(i -> i < 64 ? 10 + system * 64 + i : 10 + random.nextInt(200)).toArray();
    }

    private static long lines(Path log) {
        try {
            return Files.exists(log) ? Files.readString(log).lines().count() : 0;
        } catch (IOException e) {
            return 0;
        }
    }

    private JsonNode plan(String... arguments) {
        List<String> command = Stream.concat(Stream.of(LocalFleet.ROOT.resolve("warmpath").toString(), "plan"),
                Stream.of(arguments)).toList();
        String said = Command.run(Map.of("WARMPATH_STATE", folder.resolve("state").toString()), command);
        return JsonMapper.builder().build().readTree(said.substring(said.indexOf('{')));
    }
}
