package dev.warmpath.planner.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.warmpath.planner.output.Provenance;
import dev.warmpath.planner.simulation.Policies;
import dev.warmpath.planner.simulation.ServiceModel;
import dev.warmpath.planner.simulation.SimulatedFleet;
import dev.warmpath.planner.trace.TraceException;
import dev.warmpath.router.decisions.Sight;
import dev.warmpath.router.routing.PolicyName;
import dev.warmpath.router.routing.RouteDecision.Routed;
import dev.warmpath.workload.GeneratedLoad;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

class ReplayTest {

    private static final JsonMapper JSON = JsonMapper.builder().build();

    @TempDir
    Path folder;

    @ParameterizedTest
    @EnumSource(PolicyName.class)
    void each_policy_decides_again_as_it_did(PolicyName policy) throws IOException {
        List<Routed> decided = new ArrayList<>();
        var settings = new SimulatedFleet.Settings(/* workers */ 8, 1, GeneratedLoad.PIECE, 3_000, 4_096, 64, 65_536,
                ServiceModel.LARGE_ON_FOUR_CARDS, 5_000, /* seed */ 1);
        SimulatedFleet.run(settings, Policies.of(policy), GeneratedLoad.DOCUMENT_CHATS.sessions(250, 8, 1).iterator(),
                decided::add);
        Replay replay = replay(log(decided), List.of(policy, PolicyName.ROUND_ROBIN));

        ReplayView.Row own = replay.result(Provenance.of(0, List.of()), false).policies().stream()
                .filter(row -> row.rule().equals(policy.text())).findFirst().orElseThrow();
        assertThat(own.live()).isEqualTo(decided.size()).isGreaterThan(500);
        assertThat(own.sameAsItself()).isEqualTo(1);
        assertThat(own.sameAsLive()).isEqualTo(1);
        assertThat(own.hitRate()).isBetween(0.05, 1.0);
    }

    @Test
    void of_forty_workers_sixteen_are_kept_and_the_choice_among_them_is_the_same() throws IOException {
        List<Routed> decided = new ArrayList<>();
        var settings = new SimulatedFleet.Settings(/* workers */ 40, 1, GeneratedLoad.PIECE, 3_000, 4_096, 64, 65_536,
                ServiceModel.LARGE_ON_FOUR_CARDS, 5_000, /* seed */ 1);
        SimulatedFleet.run(settings, Policies.of(PolicyName.EXPECTED_FIRST_TOKEN),
                GeneratedLoad.DOCUMENT_CHATS.sessions(250, 30, 1).iterator(), decided::add);

        ReplayView view = replay(log(decided), List.of(PolicyName.EXPECTED_FIRST_TOKEN))
                .result(Provenance.of(0, List.of()), false);
        assertThat(view.policies().getFirst().sameAsItself()).isGreaterThanOrEqualTo(0.99);
        assertThat(view.cut()).isEqualTo(decided.size());
    }

    @Test
    void what_all_went_to_one_of_eight_is_eight_times_the_mean_and_a_trial_changes_nothing() throws IOException {
        List<Routed> decided = new ArrayList<>();
        var settings = new SimulatedFleet.Settings(/* workers */ 8, 1, GeneratedLoad.PIECE, 3_000, 4_096, 64, 65_536,
                ServiceModel.LARGE_ON_FOUR_CARDS, 5_000, /* seed */ 1);
        SimulatedFleet.run(settings, Policies.of(PolicyName.STICKY_SESSION),
                GeneratedLoad.CHATBOT.sessions(50, 1, 1).iterator(), decided::add);
        Path log = log(decided);
        Files.writeString(log, Files.readString(log).replaceFirst("\"reason\":\"[a-z_]+\"", "\"reason\":\"trial\""));

        ReplayView view = replay(log, List.of(PolicyName.STICKY_SESSION)).result(Provenance.of(0, List.of()), false);
        assertThat(view.trials()).isEqualTo(1);
        assertThat(view.decisions()).isEqualTo(decided.size() - 1L);
        assertThat(view.policies().getFirst().sameAsItself()).isEqualTo(1);
        assertThat(view.policies().getFirst().mostOverMeanRequests()).isEqualTo(8);
        assertThat(view.cut()).isZero();
    }

    @Test
    void outcomes_tell_how_good_predictions_were() throws IOException {
        Path log = Files.writeString(folder.resolve("log.jsonl"), """
                {"decisions": [{"policy": "lmetric", "worker": "a", "reason": "load", "prompt_tokens": 100, \
                "predicted_cached_tokens": 64, "predicted_first_token_ms": 40, \
                "outcome": {"cached_tokens": 32, "first_token_ms": 50}}]}
                """);
        var replay = new Replay(List.of(PolicyName.LMETRIC), name -> Policies.of(name).get());
        try (DecisionLines lines = DecisionLines.open(log)) {
            while (lines.next(replay)) {
                // counted
            }
            assertThatThrownBy(() -> lines.refuseIfNothing(replay)).isInstanceOf(TraceException.class)
                    .hasMessageContaining("warmpath.decisions.replay=true");
        }
        assertThat(replay.result(Provenance.of(0, List.of()), false).predictions()).isEqualTo(
                new ReplayView.Predictions(1, 0.64, 0.32, 0, 1, 0.04, 0.05, 0.01));
    }

    @ParameterizedTest
    @ValueSource(strings = {"x", "{}", "[]", "{\"decisions\": 5}", "{\"decisions\": [{\"sight\": {}}]}",
        "{\"decisions\": [{\"policy\": \"best\", \"worker\": \"a\", \"reason\": \"load\", \"sight\": {}}]}",
        "{\"decisions\": [{\"policy\": \"lmetric\", \"worker\": \"a\", \"reason\": \"load\", \"sight\": 7}]}",
        "{\"decisions\": [{\"policy\": \"lmetric\", \"worker\": \"a\", \"reason\": \"load\", \"sight\": {}}]}",
        "{\"decisions\": [{\"policy\": \"lmetric\", \"worker\": \"a\", \"reason\": \"load\", \"sight\": {\"query\":"
                + " {\"prompt_tokens\": 0}, \"uses\": [], \"candidates\": {}}}]}"})
    void what_is_no_line_of_a_log_is_refused_with_its_number(String line) throws IOException {
        Path log = Files.writeString(folder.resolve("log.jsonl"), "{\"decisions\": []}\n" + line + "\n");
        var replay = new Replay(List.of(PolicyName.LMETRIC), name -> Policies.of(name).get());
        try (DecisionLines lines = DecisionLines.open(log)) {
            assertThat(lines.next(replay)).isTrue();
            assertThatThrownBy(() -> lines.next(replay)).isInstanceOf(TraceException.class)
                    .hasMessageContaining("log.jsonl, line 2: ");
        }
    }

    private static Replay replay(Path log, List<PolicyName> policies) throws IOException {
        var replay = new Replay(policies, name -> Policies.of(name).get());
        try (DecisionLines lines = DecisionLines.open(log)) {
            while (lines.next(replay)) {
                // counted
            }
            lines.refuseIfNothing(replay);
        }
        return replay;
    }

    /** As the router writes them, but for what a replay does not read. */
    private Path log(List<Routed> decided) throws IOException {
        var text = new StringBuilder();
        for (Routed routed : decided) {
            ObjectNode decision = JSON.createObjectNode();
            decision.put("policy", routed.policy().text());
            decision.put("worker", routed.workerId());
            decision.put("reason", routed.reason().text());
            decision.put("candidate_count", routed.snapshot().candidateCount());
            decision.set("sight", JSON.valueToTree(Sight.of(routed.snapshot())));
            ObjectNode line = JSON.createObjectNode();
            line.putArray("decisions").add(decision);
            text.append(JSON.writeValueAsString(line)).append('\n');
        }
        return Files.writeString(folder.resolve("log.jsonl"), text);
    }
}
