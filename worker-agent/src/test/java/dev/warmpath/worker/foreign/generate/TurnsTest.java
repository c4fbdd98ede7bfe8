package dev.warmpath.worker.foreign.generate;

import static dev.warmpath.protocol.generate.StopConditions.maxTokens;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.process.TestEngine;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.protocol.generate.SamplingParameters;
import dev.warmpath.worker.engine.EngineSnapshot;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** An engine that is given few requests at a time: here one, or two. */
class TurnsTest {

    private static final String TOKEN = "{\"choices\":[{\"index\":0,\"token_ids\":[5],\"finish_reason\":%s}]}";

    private final TestEngine server = TestEngine.start();
    private final List<String> sent = new CopyOnWriteArrayList<>();
    private final Semaphore mayEnd = new Semaphore(0);
    private final AtomicInteger atOnce = new AtomicInteger();
    private final AtomicInteger mostAtOnce = new AtomicInteger();
    private ForeignEngine engine = engine(1);

    TurnsTest() {
        server.answer(Completions.PATH, exchange -> {
            mostAtOnce.accumulateAndGet(atOnce.incrementAndGet(), Math::max);
            exchange.begin();
            exchange.data(TOKEN.formatted("null"));
            mayEnd.acquireUninterruptibly();
            atOnce.decrementAndGet();
            exchange.data(TOKEN.formatted("\"stop\""));
            exchange.data("[DONE]");
            exchange.end();
        });
    }

    private ForeignEngine engine(int inFlight) {
        var facts = new EngineFacts(EngineKind.OPENAI, null, "m", null, 1_024, null, 0, Map.of());
        return new ForeignEngine(EngineLink.to(server.address()).withMostInFlight(inFlight),
                new FoundEngine(facts, new Completions("m", false)), 0, 0, () -> 1, new KnownCache() {
                    @Override
                    public int expectedTokens(GenerateRequest request) {
                        return 0;
                    }

                    @Override
                    public int sent(GenerateRequest request) {
                        sent.add(request.requestId());
                        return AS_BEFORE;
                    }
                }, () -> { }, () -> { }, () -> { });
    }

    @AfterEach
    void close() {
        mayEnd.release(1_000);
        engine.close();
        server.close();
    }

    @Test
    void one_after_the_other_is_sent_in_order_of_arrival_and_the_load_tells_who_waits() {
        List<Heard> heard = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            heard.add(ask("r" + i, 0));
        }
        heard.getFirst().awaitTokens(1);
        await(() -> engine.load().load().waiting() == 3);
        EngineSnapshot.Load load = engine.load().load();
        assertThat(load.running()).isEqualTo(1);
        assertThat(load.pendingRequests()).isEqualTo(3);
        assertThat(heard.get(1).finished).isNull();

        mayEnd.release(4);
        heard.forEach(one -> assertThat(one.awaitEnd().finished).isEqualTo(FinishReason.STOP));
        assertThat(mostAtOnce).hasValue(1);
        assertThat(server.requests(Completions.PATH).stream().map(TurnsTest::name)).containsExactly("r0", "r1", "r2",
                "r3");
        assertThat(heard.getLast().times.admittedNanos()).isGreaterThan(heard.getFirst().times.firstTokenNanos());
        await(() -> engine.load().load().running() == 0);
    }

    @Test
    void choices_of_one_request_take_turns_as_well() {
        engine.close();
        engine = engine(2);
        List<Heard> heard = List.of(new Heard(), new Heard(), new Heard());
        engine.submit(request("r", 0).withChoices(3), List.copyOf(heard));
        heard.get(0).awaitTokens(1);
        heard.get(1).awaitTokens(1);
        await(() -> engine.load().load().waiting() == 1);
        mayEnd.release(3);
        heard.forEach(one -> assertThat(one.awaitEnd().finished).isEqualTo(FinishReason.STOP));
        assertThat(mostAtOnce).hasValue(2);
        await(() -> !sent.isEmpty());
        assertThat(sent).as("once, however many choices").containsExactly("r");
    }

    @Test
    void who_is_cancelled_or_out_of_time_while_it_waits_is_never_sent() {
        Heard first = ask("first", 0).awaitTokens(1);
        Heard cancelled = new Heard();
        ForeignGeneration gone = engine.submit(request("cancelled", 0), List.of(cancelled)).getFirst();
        Heard late = ask("late", 1);
        Heard last = ask("last", 0);
        engine.cancel(gone);
        assertThat(late.awaitEnd().failed).isEqualTo(FailureReason.DEADLINE_EXCEEDED);
        await(() -> engine.load().load().waiting() == 1);
        assertThat(first.finished).isNull();

        mayEnd.release(2);
        assertThat(last.awaitEnd().finished).isEqualTo(FinishReason.STOP);
        assertThat(server.requests(Completions.PATH).stream().map(TurnsTest::name)).containsExactly("first", "last");
        await(() -> sent.size() == 2);
        assertThat(sent).as("what the engine is taken to hold").containsExactly("first", "last");
        assertThat(engine.counts().cancelled()).isEqualTo(1);
    }

    @Test
    void who_is_stopped_or_leaves_the_engine_makes_room_for_the_next() {
        Heard heard = new Heard();
        ForeignGeneration first = engine.submit(request("first", 0), List.of(heard)).getFirst();
        heard.awaitTokens(1);
        Heard second = ask("second", 0);
        engine.cancel(first);
        second.awaitTokens(1);
        mayEnd.release(2);
        assertThat(second.awaitEnd().finished).isEqualTo(FinishReason.STOP);
    }

    @Test
    void an_engine_that_dies_fails_all_of_hundreds_that_wait() {
        Heard first = ask("first", 0).awaitTokens(1);
        List<Heard> waiting = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            waiting.add(ask("w" + i, 0));
        }
        server.close();
        assertThat(first.awaitEnd().failed).isEqualTo(FailureReason.ENGINE_FAILURE);
        waiting.forEach(one -> assertThat(one.awaitEnd().failed).isEqualTo(FailureReason.ENGINE_FAILURE));
        assertThat(waiting.getLast().message).contains("cannot be reached");
    }

    @Test
    void a_worker_that_ends_sends_nobody_who_waits() {
        ask("first", 0).awaitTokens(1);
        Heard second = ask("second", 0);
        await(() -> engine.load().load().waiting() == 1);
        engine.close();
        assertThat(second.awaitEnd().failed).isEqualTo(FailureReason.SHUTTING_DOWN);
        assertThat(server.requests(Completions.PATH)).hasSize(1);
    }

    private Heard ask(String name, long timeoutMillis) {
        var heard = new Heard();
        engine.submit(request(name, timeoutMillis), List.of(heard));
        return heard;
    }

    private static GenerateRequest request(String name, long timeoutMillis) {
        return new GenerateRequest(name, 0, new int[] {1, 2, 3}, SamplingParameters.GREEDY, maxTokens(9), false, null,
                null, null, 0, timeoutMillis);
    }

    private static String name(TestEngine.Request request) {
        return request.headers().get("x-request-id").replaceFirst("-.*", "");
    }

    private static void await(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            LockSupport.parkNanos(1_000_000);
        }
    }
}
