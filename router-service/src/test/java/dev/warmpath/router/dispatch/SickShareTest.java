package dev.warmpath.router.dispatch;

import static dev.warmpath.router.fleet.TestWorkers.CHECK;
import static dev.warmpath.router.fleet.TestWorkers.MODEL;
import static dev.warmpath.router.fleet.TestWorkers.TOKENIZER;
import static dev.warmpath.router.fleet.TestWorkers.registration;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.RegistrationOutcome;
import dev.warmpath.router.health.WorkerHealth;
import dev.warmpath.router.models.ServedModel;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.router.routing.ExpectedFirstToken;
import dev.warmpath.router.routing.RequestRouter;
import dev.warmpath.router.routing.RouteResult.Placed;
import dev.warmpath.router.routing.TokenizedPrompt;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Fleet, routing, health and deadlines as they are, by a clock that the test moves; workers that take 50 ms to a first
 * token and 50 more to the last, and 100 requests a second for 70 s. What {@link AttemptWatch} tells of an attempt is
 * told here.
 */
class SickShareTest {

    private enum Fault { ANSWERS_500, CUTS_ITS_STREAMS, IS_SILENT, JOINS_AND_IS_SILENT }

    private record Event(long nanos, long order, Runnable what) {}

    private record Attempt(WorkerHealth health, long startedNanos) {}

    private static final long MILLI = 1_000_000;
    private static final long SECOND = 1_000 * MILLI;
    private static final long SICK_FROM = 5 * SECOND;
    private static final long COUNTED_FROM = SICK_FROM + 5 * SECOND;
    private static final long END = COUNTED_FROM + 60 * SECOND;
    private static final int PROMPT_TOKENS = 48;

    private long now;
    private final PriorityQueue<Event> events =
            new PriorityQueue<>(Comparator.comparingLong(Event::nanos).thenComparingLong(Event::order));
    private final Random random = new Random(5);
    private final PrefixIndex index = new PrefixIndex();
    private final Fleet fleet = new Fleet(index, CHECK, Duration.ofDays(1), 10, () -> now, _ -> false);
    private final RequestRouter router = new RequestRouter(fleet, index, new ExpectedFirstToken(), () -> now,
            new RouterId("r"));
    private long order;
    private int requests;
    private int toTheSick;
    private int toTheSickAfterFiveSeconds;

    @ParameterizedTest
    @EnumSource
    void after_five_seconds_at_most_one_request_in_a_hundred_goes_to_a_sick_worker(Fault fault) {
        Stream.of("a", "b", "c").forEach(this::join);
        fleet.modelLoaded(MODEL.revision(), TOKENIZER);
        if (fault == Fault.JOINS_AND_IS_SILENT) {
            at(SICK_FROM, () -> join("sick"));
        } else {
            join("sick");
        }
        ServedModel model = Objects.requireNonNull(fleet.model("tiny"));
        for (long nanos = 0; nanos < END; nanos += 10 * MILLI) {
            at(nanos, () -> {
                requests += now >= COUNTED_FROM ? 1 : 0;
                int[] prompt = random.ints(PROMPT_TOKENS, 10, 400).toArray();
                send(fault, TokenizedPrompt.of(model, prompt), List.of(), Set.of());
            });
        }
        for (long nanos = 0; nanos < END; nanos += 250 * MILLI) {
            at(nanos, () -> fleet.compareHealth(4));
        }
        while (!events.isEmpty()) {
            Event next = events.remove();
            now = next.nanos();
            next.what().run();
        }

        assertThat(requests).isEqualTo(6_000);
        assertThat(toTheSick).as("requests that found it sick").isPositive();
        assertThat(toTheSickAfterFiveSeconds).isLessThanOrEqualTo(requests / 100);
        assertThat(router.inFlight()).isZero();
    }

    /** @param suspected attempts of the same request, which failed without a token */
    private void send(Fault fault, TokenizedPrompt prompt, List<Attempt> suspected, Set<String> tried) {
        var placed = (Placed) router.route(prompt, tried);
        var attempt = new Attempt(placed.worker().health(), now);
        boolean sick = placed.worker().id().equals("sick") && now >= SICK_FROM;
        toTheSick += sick ? 1 : 0;
        toTheSickAfterFiveSeconds += sick && now >= COUNTED_FROM ? 1 : 0;
        if (sick && fault != Fault.CUTS_ITS_STREAMS) {
            at(now + (fault == Fault.ANSWERS_500 ? MILLI : deadline(placed).toNanos()), () -> {
                attempt.health().suspect();
                placed.inFlight().close();
                var excluded = new HashSet<>(tried);
                excluded.add(placed.worker().id());
                send(fault, prompt, Stream.concat(suspected.stream(), Stream.of(attempt)).toList(), excluded);
            });
            return;
        }
        at(now + 50 * MILLI, () -> {
            attempt.health().firstToken(placed.decision().workTokens(), 50 * MILLI);
            placed.inFlight().firstToken();
            for (Attempt each : suspected) {
                each.health().unsuspect();
                each.health().failed("worker_lost", each.startedNanos(), now);
            }
        });
        at(now + 100 * MILLI, () -> {
            if (sick) {
                attempt.health().failed("worker_lost", attempt.startedNanos(), now);
            } else {
                attempt.health().answered(attempt.startedNanos(), now);
            }
            placed.inFlight().close();
        });
    }

    private static Duration deadline(Placed placed) {
        return FirstTokenDeadline.of(
                placed.worker().health().expectedFirstTokenNanos(placed.decision().workTokens()),
                Duration.ofSeconds(3), Duration.ofSeconds(60));
    }

    private void join(String id) {
        fleet.indexed(((RegistrationOutcome.Accepted) fleet.register(registration(id, 1))).worker());
    }

    private void at(long nanos, Runnable what) {
        events.add(new Event(nanos, order++, what));
    }
}
