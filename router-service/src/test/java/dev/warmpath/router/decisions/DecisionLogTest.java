package dev.warmpath.router.decisions;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.warmpath.router.decisions.Decision.Subject;
import dev.warmpath.router.fleet.IndexGrade;
import dev.warmpath.router.routing.Candidate;
import dev.warmpath.router.routing.CandidateBuilder;
import dev.warmpath.router.routing.Choice;
import dev.warmpath.router.routing.ExpectedFirstToken;
import dev.warmpath.router.routing.LeftOut;
import dev.warmpath.router.routing.PolicyName;
import dev.warmpath.router.routing.RouteDecision.Routed;
import dev.warmpath.router.routing.RouteQuery;
import dev.warmpath.router.routing.RouteSnapshot;
import dev.warmpath.router.metrics.RouterMetrics;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

class DecisionLogTest {

    private static final Instant NOON = Instant.parse("2026-11-23T12:00:00Z");
    private static final long PREDICTED_NANOS = 25_000_000;
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private long nanos;
    private final AtomicInteger discarded = new AtomicInteger();

    @TempDir
    Path directory;

    @Test
    void of_five_decisions_the_last_three_are_kept_the_newest_first() {
        DecisionLog log = log(3, null);
        for (int i = 1; i <= 5; i++) {
            begin(log, "r" + i);
        }

        assertThat(requests(log.latest(10, _ -> true))).containsExactly("r5", "r4", "r3");
        assertThat(requests(log.latest(2, _ -> true))).containsExactly("r5", "r4");
        assertThat(requests(log.latest(1, each -> !each.subject().requestId().equals("r5")))).containsExactly("r4");
    }

    @Test
    void a_decision_has_no_outcome_before_its_end_and_then_times_and_tokens() {
        DecisionLog log = log(3, null);
        Decision decision = begin(log, "r1");
        nanos += 30_000_000;
        decision.firstToken();
        assertThat(DecisionView.of(decision).outcome()).isNull();
        nanos += 70_500_000;
        decision.usage(/* cachedTokens */ 16, /* completionTokens */ 5);
        decision.answered();

        assertThat(DecisionView.of(decision).outcome())
                .isEqualTo(new DecisionView.OutcomeView("answered", 30.0, 100.5, 16, 5));
    }

    /** 25 ms were predicted of each; the first took 30 ms, the second 22, the third never, the fourth was held. */
    @Test
    void predicted_and_actual_times_to_the_first_token_are_counted_of_attempts_that_had_one() {
        DecisionLog log = log(3, null);
        for (int millis : new int[] {30, 22}) {
            Decision decision = begin(log, "r");
            nanos += millis * 1_000_000L;
            decision.firstToken();
            decision.answered();
        }
        begin(log, "r").failed("worker_lost");
        Decision held = begin(log, "r");
        held.held();
        nanos += 60_000_000_000L;
        held.firstToken();
        held.answered();

        assertThat(millisOf("warmpath.predicted.first.token")).isEqualTo("2 in 50");
        assertThat(millisOf("warmpath.attempt.first.token")).isEqualTo("2 in 52");
        assertThat(millisOf("warmpath.first.token.error")).isEqualTo("2 in 8");
    }

    private String millisOf(String timer) {
        Timer found = meters.get(timer).tag("model", "tiny").timer();
        return found.count() + " in " + Math.round(found.totalTime(TimeUnit.MILLISECONDS));
    }

    @Test
    void a_line_of_the_file_has_what_was_asked_each_choice_with_every_term_and_what_came_of_it() throws IOException {
        Path file = directory.resolve("decisions.jsonl");
        DecisionLog log = log(3, file(file, 1_000_000));
        RequestRecord request = log.begin(
                new RequestRecord.Asked("r1", "team-a", "chat", true, 3, 1, 64, 0.5f, null, 1f, 2, 0, false), "0af7");
        request.served("tiny");
        request.tokenized(100);
        request.turn(1_500_000);
        decide(log, request, 1).failed("worker_lost");
        Decision answered = decide(log, request, 2);
        nanos += 20_000_000;
        answered.firstToken();
        answered.usage(48, 5);
        answered.answered();
        request.firstText(25_000_000);
        request.answered(new RequestRecord.Answer("stop", 48, 5));
        request.ended("answered", null, 27_250_000);
        request.close();
        log.begin(asked("goes on"), null);
        log.close();

        List<JsonNode> lines = Files.readAllLines(file).stream().map(JSON::readTree).toList();
        assertThat(lines).as("the other one goes on").hasSize(1);
        JsonNode line = lines.getFirst();
        assertThat(line.path("decisions").path(1)).isEqualTo(JSON.readTree("""
                {"at":"2026-11-23T12:00:00Z","request":"r1","attempt":2,"model":"tiny","revision":"abc","worker":"b",
                 "policy":"expected-first-token","reason":"prefix","prompt_tokens":100,"block_size":16,
                 "fleet_cached_tokens":48,"predicted_cached_tokens":48,"predicted_first_token_ms":25.0,
                 "index_grade":"exact","candidate_count":2,
                 "candidates":[
                  {"worker":"a","matched_blocks":0,"promised_blocks":0,"grade":"exact","behind_batches":0,
                   "behind_ms":0,"health":"healthy","cost":100,
                   "terms":{"uncached":100,"copy":0,"delay":0,"eviction":0,"pending":0,"queued":0,"streams":0,"slots":0,
                   "memory":0,"failures":0},
                   "requests":0,"used_blocks":0,"block_count":1000},
                  {"worker":"b","matched_blocks":3,"promised_blocks":3,"grade":"exact","behind_batches":0,
                   "behind_ms":0,"health":"healthy","cost":52,
                   "terms":{"uncached":52,"copy":0,"delay":0,"eviction":0,"pending":0,"queued":0,"streams":0,"slots":0,
                   "memory":0,"failures":0},
                   "requests":0,"used_blocks":0,"block_count":1000}],
                 "left_out_count":0,"left_out":[],"shadow":null,
                 "outcome":{"end":"answered","first_token_ms":20.0,"total_ms":20.0,"cached_tokens":48,
                  "completion_tokens":5}}"""));
        assertThat(line.path("decisions").path(0).path("outcome")).isEqualTo(JSON.readTree("""
                {"end":"worker_lost","first_token_ms":null,"total_ms":0.0,"cached_tokens":null,
                 "completion_tokens":null}"""));
        ((ObjectNode) line).remove("decisions");
        assertThat(line).isEqualTo(JSON.readTree("""
                {"at":"2026-11-23T12:00:00Z","request":"r1","key":"team-a","trace":"0af7","endpoint":"chat",
                 "model":"tiny",
                 "asked":{"streamed":true,"messages":3,"choices":1,"max_tokens":64,"temperature":0.5,"top_k":null,"top_p":1.0,
                  "stop_strings":2,"stop_tokens":0,"ignore_eos":false},
                 "prompt_tokens":100,"queue_ms":1.5,
                 "outcome":{"end":"answered","error":null,"first_text_ms":25.0,"total_ms":27.25,
                  "finish_reason":"stop","cached_tokens":48,"completion_tokens":5}}"""));
        assertThat(discarded).hasValue(0);
    }

    /** A line has some 1,250 bytes. */
    @Test
    void a_file_that_has_reached_its_size_is_put_aside_in_place_of_the_one_before() throws IOException {
        Path file = directory.resolve("decisions.jsonl");
        DecisionLog log = log(3, file(file, 10_000));
        for (int i = 0; i < 100; i++) {
            answer(log, "request-" + (100 + i));
        }
        log.close();

        List<String> last = requestsIn(file);
        List<String> before = requestsIn(directory.resolve("decisions.jsonl.1"));
        assertThat(Files.size(file)).isLessThanOrEqualTo(10_000);
        assertThat(Files.size(directory.resolve("decisions.jsonl.1"))).isBetween(8_500L, 10_000L);
        assertThat(last.getLast()).isEqualTo("request-199");
        assertThat(last.getFirst()).isEqualTo("request-" + (Integer.parseInt(before.getLast().substring(8)) + 1));
        try (var files = Files.list(directory)) {
            assertThat(files).hasSize(2);
        }
    }

    @Test
    void a_file_is_gone_on_with_after_a_restart() throws IOException {
        Path file = directory.resolve("decisions.jsonl");
        for (String request : List.of("before", "after")) {
            DecisionLog log = log(3, file(file, 1_000_000));
            answer(log, request);
            log.close();
        }

        assertThat(requestsIn(file)).containsExactly("before", "after");
    }

    @Test
    void a_file_in_a_directory_that_is_not_there_is_refused_at_the_start() {
        Path file = directory.resolve("nowhere").resolve("decisions.jsonl");

        assertThatIllegalArgumentException().isThrownBy(() -> file(file, 1_000_000))
                .withMessageContaining("warmpath.decisions.file cannot be written").withMessageContaining("nowhere");
    }

    /** Linux has a file whose every write fails for want of space. */
    @Test
    void a_full_disk_costs_lines_and_nobodys_time() {
        DecisionLog log = log(3, file(Path.of("/dev/full"), 1_000_000));
        for (int i = 0; i < 10; i++) {
            answer(log, "r" + i);
        }
        log.close();

        assertThat(discarded).hasValue(10);
        assertThat(requests(log.latest(1, _ -> true))).containsExactly("r9");
    }

    @Test
    void what_was_half_written_is_cut_off_when_writing_works_again() throws IOException {
        Path file = directory.resolve("decisions.jsonl");
        Files.writeString(file, "{\"request\":\"before\"}\n");
        DecisionFile decisions = file(file, 1_000_000);
        Files.writeString(file, "{\"request\":\"ha", StandardOpenOption.APPEND);   // by a write that broke off
        DecisionLog log = log(3, decisions);
        answer(log, "after");
        log.close();

        assertThat(requestsIn(file)).containsExactly("before", "after");
    }

    /** A link leads to a full disk first, then to a file with a line in it. */
    @Test
    void what_another_router_wrote_while_writing_failed_is_not_cut_off() throws IOException {
        Path file = Files.createSymbolicLink(directory.resolve("decisions.jsonl"), Path.of("/dev/full"));
        DecisionLog log = log(3, file(file, 1_000_000));
        answer(log, "lost");
        while (discarded.get() < 1) {
            Thread.onSpinWait();
        }
        Path other = Files.writeString(directory.resolve("other.jsonl"), "{\"request\":\"of another\"}\n");
        Path link = Files.createSymbolicLink(directory.resolve("link"), other);
        Files.move(link, file, StandardCopyOption.REPLACE_EXISTING);
        answer(log, "after");
        log.close();

        assertThat(requestsIn(file)).containsExactly("of another", "after");
    }

    /** A directory of that name is in the way. */
    @Test
    void a_file_that_cannot_be_put_aside_is_begun_anew() throws IOException {
        Path file = directory.resolve("decisions.jsonl");
        Files.createDirectories(directory.resolve("decisions.jsonl.1").resolve("in the way"));
        DecisionLog log = log(3, file(file, 10_000));
        for (int i = 0; i < 100; i++) {
            answer(log, "request-" + (100 + i));
        }
        log.close();

        assertThat(Files.size(file)).isLessThanOrEqualTo(10_000);
        assertThat(requestsIn(file).getLast()).isEqualTo("request-199");
        assertThat(discarded).hasValue(0);
    }

    @Test
    void two_routers_do_not_write_to_one_file() {
        Path file = directory.resolve("decisions.jsonl");
        DecisionFile first = file(file, 1_000_000);

        assertThatIllegalArgumentException().isThrownBy(() -> file(file, 1_000_000))
                .withMessageContaining(file + " is written by another router, and each needs its own");
        first.close();
        file(file, 1_000_000).close();
    }

    private DecisionFile file(Path path, long maxBytes) {
        return new DecisionFile(path, maxBytes, discarded::addAndGet);
    }

    private DecisionLog log(int keep, @Nullable DecisionFile file) {
        return new DecisionLog(keep, file, /* replay */ false, new RouterMetrics(meters), () -> NOON, () -> nanos);
    }

    private static Decision begin(DecisionLog log, String request) {
        return decide(log, log.begin(asked(request), null), 1);
    }

    /** From beginning to end. */
    private static void answer(DecisionLog log, String id) {
        RequestRecord request = log.begin(asked(id), null);
        decide(log, request, 1).answered();
        request.ended("answered", null, 0);
        request.close();
    }

    private static RequestRecord.Asked asked(String request) {
        return new RequestRecord.Asked(request, null, "completions", false, null, 1, 16, null, null, null, 0, 0, false);
    }

    private static Decision decide(DecisionLog log, RequestRecord request, int attempt) {
        var query = new RouteQuery(100, 16);
        Choice choice = new ExpectedFirstToken().choose(query, List.of(candidate("a", 0), candidate("b", 3)));
        return log.decide(request, new Subject(request.asked().requestId(), attempt, "tiny", "abc"),
                /* prompt */ null,                 // nobody watches who would read it
                new Routed(PolicyName.EXPECTED_FIRST_TOKEN, choice.costs().get(choice.chosen()), choice.reason(),
                        PREDICTED_NANOS,
                        new RouteSnapshot(query, 2, IndexGrade.EXACT, 3, choice.costs(), LeftOut.NOBODY), null));
    }

    private static Candidate candidate(String id, int blocks) {
        return CandidateBuilder.named(id).matched(blocks).build();
    }

    private static List<String> requests(List<Decision> decisions) {
        return decisions.stream().map(each -> each.subject().requestId()).toList();
    }

    private static List<String> requestsIn(Path file) throws IOException {
        List<String> requests = new ArrayList<>();
        for (String line : Files.readAllLines(file)) {
            requests.add(JSON.readTree(line).path("request").asString());
        }
        return requests;
    }
}
