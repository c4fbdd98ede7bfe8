package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.acceptance.Gateway.Answer;
import dev.warmpath.process.VllmServer;
import java.io.UncheckedIOException;
import java.net.http.HttpClient;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A router before two real vLLMs that each have half of a cache in which twenty conversations fit. */
@Tag("full")
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class VllmFleetFullTest {

    private static final JsonMapper JSON = JsonMapper.builder().build();
    private static final int BLOCKS_OF_BOTH = 1_400;
    private static final int SESSIONS = 20;
    private static final int TURNS = 25;
    private static final int AT_A_TIME = 4;
    private static final Gateway.AnnouncedSet UNKNOWN = new Gateway.AnnouncedSet(-1, 0, 0);
    private static final String CHAT = "/v1/chat/completions";
    private static final List<String> WORDS = List.of("block", "cache", "prefix", "router", "worker", "token", "page",
            "queue", "batch", "layer", "head", "value", "key", "chain", "hash", "evicted", "shared", "early", "often",
            "seldom", "warm", "cold", "long", "short");

    private static final List<VllmServer> ENGINES = new ArrayList<>();
    private static LocalFleet fleet;

    @BeforeAll
    static void start() throws InterruptedException {
        for (int i = 0; i < 2; i++) {
            ENGINES.add(VllmServer.start(BLOCKS_OF_BOTH / 2));
        }
        fleet = LocalFleet.start(1, 0, LocalFleet.patient(), List.of());
        for (VllmServer engine : ENGINES) {
            engine.awaitReady();
            fleet.addWorker("--warmpath.engine.kind=vllm", "--warmpath.engine.url=" + engine.uri(),
                    "--warmpath.model.directory=" + VllmServer.modelFolder());
        }
        fleet.awaitReady(2);
    }

    @AfterAll
    static void stop() {
        if (fleet != null) {
            fleet.close();
        }
        ENGINES.forEach(VllmServer::close);
    }

    /** By one conversation alone, so that both compute in the same order. */
    @Test
    @Order(1)
    void a_greedy_answer_is_the_one_that_the_engine_gives_who_asks_it_directly() {
        var own = new Session(new SplittableRandom(7), 0);
        Gateway engine = of(ENGINES.getFirst());
        for (int turn = 0; turn < 5; turn++) {
            Answer direct = own.ask(engine);
            Answer routed = own.ask(fleet.gateway());
            assertThat(routed.status()).as(routed.body().toString()).isEqualTo(200);
            assertThat(routed.text()).isEqualTo(direct.text());
            assertThat(routed.promptTokens()).isEqualTo(direct.promptTokens());
            assertThat(routed.completionTokens()).isEqualTo(direct.completionTokens());
            assertThat(routed.body().path("choices").path(0).path("finish_reason"))
                    .isEqualTo(direct.body().path("choices").path(0).path("finish_reason"));
            own.goOn(routed);
        }
    }

    @Test
    @Order(2)
    void five_hundred_requests_find_what_was_predicted_and_as_much_as_in_one_cache_of_both_sizes()
            throws InterruptedException {
        List<Answer> answers = converse(fleet.gateway());
        assertThat(answers).hasSize(SESSIONS * TURNS).allMatch(answer -> answer.status() == 200);
        List<Answer> hits = answers.stream().filter(answer -> answer.cachedTokens() > 0).toList();
        long predicted = hits.stream().filter(hit -> hit.cachedTokens() == hit.predictedCachedTokens()).count();
        String wrong = hits.stream().filter(hit -> hit.cachedTokens() != hit.predictedCachedTokens())
                .map(hit -> hit.predictedCachedTokens() + " predicted, " + hit.cachedTokens() + " of "
                        + hit.promptTokens() + " found by " + hit.worker())
                .collect(Collectors.joining("\n"));
        double rate = hitRate(answers);
        System.out.printf("%d of %d hits as predicted, hit rate %.4f%n%s%n", predicted, hits.size(), rate, wrong);
        assertThat(answers.stream().map(Answer::worker).distinct()).hasSize(2);
        assertThat(predicted).as(wrong).isGreaterThanOrEqualTo((long) Math.ceil(hits.size() * 0.99));

        double alone;
        try (VllmServer single = VllmServer.start(BLOCKS_OF_BOTH)) {
            single.awaitReady();
            alone = hitRate(converse(of(single)));
        }
        System.out.printf("hit rate of one server %.4f%n", alone);
        assertThat(rate).isGreaterThanOrEqualTo(alone - 0.02);
    }

    @Test
    @Order(3)
    void an_engine_that_dies_ends_its_own_streams_alone_and_is_taken_again_when_it_comes_back()
            throws InterruptedException {
        var random = new SplittableRandom(11);
        var halfway = new AtomicInteger();
        List<CompletableFuture<Ending>> streams = new ArrayList<>();
        try (var clients = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < 8; i++) {
                List<Map<String, String>> prompt = new Session(random.split(), 100 + i).messages;
                streams.add(CompletableFuture.supplyAsync(() -> stream(prompt, halfway), clients));
            }
            Await.until("all have begun", () -> {
                assertThat(streams).noneMatch(CompletableFuture::isDone);
                return halfway.get() == streams.size();
            });
            ENGINES.getFirst().killCore();
            List<Ending> all = streams.stream().map(CompletableFuture::join).toList();
            assertThat(all).allMatch(each -> each.isWhole() != each.isError());
            assertThat(all.stream().filter(Ending::isError).count()).as("%s", all).isBetween(1L, all.size() - 1L);
        }
        fleet.awaitReady(1);
        var session = new Session(random, 200);
        for (int turn = 0; turn < 3; turn++) {
            Answer answer = session.ask(fleet.gateway());
            assertThat(answer.status()).isEqualTo(200);
            assertThat(answer.worker()).isEqualTo("worker-2");
            session.goOn(answer);
        }

        ENGINES.getFirst().kill();
        ENGINES.getFirst().restart();
        ENGINES.getFirst().awaitReady();
        fleet.awaitReady(2);
        Await.until("what the dead one held is forgotten",
                () -> fleet.gateway().indexCopies().getOrDefault("worker-1", UNKNOWN).size() == 0);
        List<Answer> answers = converse(fleet.gateway(), IntStream.range(300, 308).boxed().toList(), 3);
        assertThat(answers).allMatch(answer -> answer.status() == 200);
        assertThat(answers.stream().map(Answer::worker).distinct()).hasSize(2);
        assertThat(answers.stream().filter(answer -> answer.cachedTokens() > 0)).isNotEmpty();
    }

    @Test
    @Order(4)
    void workers_that_compute_an_assumed_server_and_vllms_serve_three_models_of_one_router() {
        try (var elsewhere = LocalFleet.start(1, 1, LocalFleet.patient(), List.of("--warmpath.model.name=elsewhere"))) {
            fleet.addWorker();
            fleet.addWorker("--warmpath.engine.kind=openai", "--warmpath.engine.url=" + elsewhere.routerUrl(1));
            fleet.awaitReady(4);
            Map<String, String> workerOf = Map.of(LocalFleet.MODEL, "worker-3", "elsewhere", "worker-4");
            var random = new SplittableRandom(13);
            for (String model : List.of(LocalFleet.MODEL, "elsewhere", VllmServer.MODEL)) {
                int[] prompt = ConversationLoad.randomTokens(random, 200, 200);
                Map<String, Object> body = Map.of("model", model, "prompt", prompt, "max_tokens", 8, "temperature", 0);
                Answer first = fleet.gateway().post("/v1/completions", body);
                assertThat(first.status()).as("%s: %s", model, first.body()).isEqualTo(200);
                assertThat(first.worker()).isIn(workerOf.getOrDefault(model, "worker-1"),
                        workerOf.getOrDefault(model, "worker-2"));
                Await.until("the prompt of " + model + " is known to be cached", () -> {
                    Answer again = fleet.gateway().post("/v1/completions", body);
                    assertThat(again.text()).isEqualTo(first.text());
                    return again.predictedCachedTokens() == 192 && again.cachedTokens() == 192
                            && again.worker().equals(first.worker());
                });
            }
        }
    }

    /** One conversation: what was said so far. */
    private static final class Session {

        private final SplittableRandom random;
        private final int number;
        private final List<Map<String, String>> messages = new ArrayList<>();

        Session(SplittableRandom random, int number) {
            this.random = random;
            this.number = number;
            messages.add(said("system", "You answer questions about a cache of keys and values that is kept in blocks. "
                    + "Be brief, be exact, and name the block that you mean."));
            messages.add(said("user", "Conversation " + number + ": " + words()));
        }

        private String words() {
            return IntStream.range(0, 20).mapToObj(_ -> WORDS.get(random.nextInt(WORDS.size())))
                    .collect(Collectors.joining(" "));
        }

        private static Map<String, String> said(String role, String content) {
            return Map.of("role", role, "content", content);
        }

        Answer ask(Gateway gateway) {
            return gateway.post(CHAT, Map.of("model", VllmServer.MODEL, "messages", messages, "temperature", 0,
                    "max_tokens", 16));
        }

        void goOn(Answer answer) {
            messages.add(said("assistant", answer.text()));
            messages.add(said("user", words()));
        }
    }

    private static List<Answer> converse(Gateway gateway) {
        return converse(gateway, IntStream.range(0, SESSIONS).boxed().toList(), TURNS);
    }

    /** So many clients; each answers the conversation that has waited longest. */
    private static List<Answer> converse(Gateway gateway, List<Integer> numbers, int turns) {
        Queue<Session> waiting = new ConcurrentLinkedQueue<>();
        numbers.forEach(number -> waiting.add(new Session(new SplittableRandom(number), number)));
        Queue<Answer> answers = new ConcurrentLinkedQueue<>();
        var left = new AtomicInteger(numbers.size() * turns);
        try (var clients = Executors.newVirtualThreadPerTaskExecutor()) {
            List<CompletableFuture<Void>> all = new ArrayList<>();
            for (int client = 0; client < AT_A_TIME; client++) {
                all.add(CompletableFuture.runAsync(() -> {
                    while (left.getAndDecrement() > 0) {
                        Session session = Objects.requireNonNull(waiting.poll(), "more clients than conversations");
                        Answer answer = session.ask(gateway);
                        answers.add(answer);
                        session.goOn(answer);
                        waiting.add(session);
                    }
                }, clients));
            }
            all.forEach(CompletableFuture::join);
        }
        return List.copyOf(answers);
    }

    private static double hitRate(List<Answer> answers) {
        return (double) answers.stream().mapToLong(Answer::cachedTokens).sum()
                / answers.stream().mapToLong(Answer::promptTokens).sum();
    }

    /** How a streamed answer ended: with all its tokens, or with an error event, after which its connection breaks. */
    private record Ending(boolean isWhole, boolean isError) {}

    private static Ending stream(List<Map<String, String>> messages, AtomicInteger begun) {
        List<String> events = new ArrayList<>();
        try {
            fleet.gateway().stream(CHAT, Map.of("model", VllmServer.MODEL, "messages", messages, "temperature", 0,
                    "max_tokens", 500, "ignore_eos", true, "stream", true), event -> {
                        events.add(event);
                        if (events.size() == 3) {
                            begun.incrementAndGet();
                        }
                    });
        } catch (UncheckedIOException e) {
            events.add("broken off: " + e.getMessage());
        }
        List<JsonNode> data = events.stream().filter(event -> event.startsWith("{")).map(JSON::readTree).toList();
        boolean isWhole = data.stream().anyMatch(event -> event.path("choices").path(0).path("finish_reason")
                .asString("").equals("length"));
        return new Ending(isWhole && events.getLast().equals("[DONE]"), data.getLast().has("error"));
    }

    private static Gateway of(VllmServer engine) {
        return new Gateway(engine.uri(), engine.uri(), HttpClient.Version.HTTP_1_1);
    }
}
