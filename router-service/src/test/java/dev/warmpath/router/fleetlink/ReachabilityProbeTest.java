package dev.warmpath.router.fleetlink;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.RegistrationOutcome.Accepted;
import dev.warmpath.router.fleet.TestWorkers;
import dev.warmpath.router.health.HealthState;
import dev.warmpath.router.prefix.PrefixIndex;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A worker whose heartbeats come, behind a network that can lose all it answers; the bound is 300 ms. */
class ReachabilityProbeTest {

    private static final Duration BOUND = Duration.ofMillis(300);
    private final ServerSocketChannel server = ServerSocketChannel.open()
            .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 64);
    private final AtomicInteger requests = new AtomicInteger();
    private final AtomicInteger mostOverOneConnection = new AtomicInteger();
    /** Of those that nobody serves: how many had not been hung up when the next one came, at most. */
    private final AtomicInteger mostOpen = new AtomicInteger();
    private final AtomicInteger calls = new AtomicInteger();
    private volatile String lastRequest = "";
    private volatile boolean losesAnswers;
    private volatile boolean servesNobody;
    private final Fleet fleet = new Fleet(new PrefixIndex(), TestWorkers.CHECK, Duration.ofMinutes(10), 10,
            System::nanoTime, new ConnectProbe());
    private final FleetWorker worker;

    ReachabilityProbeTest() throws IOException {
        Thread.ofVirtual().start(this::accept);
        var registration = new Registration(Protocol.VERSION, "w", 7,
                URI.create("http://127.0.0.1:" + server.socket().getLocalPort()), TestWorkers.MODEL, 1_000, 8, true);
        worker = ((Accepted) fleet.register(registration)).worker();
        Thread.ofVirtual().start(this::probe);
    }

    /** Alone, so that every connection is a probe's. */
    private void probe() {
        try {
            new ReachabilityProbe(worker, BOUND, System::nanoTime, new Random(3)).run();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @AfterEach
    void close() throws IOException {
        fleet.remove(worker, "the test is over");
        server.close();
    }

    @Test
    void a_worker_that_answers_is_asked_over_one_connection_and_is_shown_no_secret() {
        await(() -> mostOverOneConnection.get() >= 10);
        await(() -> state() == HealthState.HEALTHY);
        assertThat(lastRequest).startsWith("HEAD /internal/v1/files/ HTTP/1.1").doesNotContainIgnoringCase("authoriz");
    }

    @Test
    void a_worker_whose_answers_are_lost_gets_no_requests_though_its_heartbeats_come_until_they_arrive_again() {
        await(() -> requests.get() >= 2);
        losesAnswers = true;
        await(() -> state() == HealthState.UNREACHABLE);
        assertThat(worker.health().problem()).startsWith("has left ").contains("Read timed out");
        fleet.heartbeat(TestWorkers.idle("w", 7));
        assertThat(fleet.ofHealth(HealthState.UNREACHABLE)).isOne();
        assertThat(fleet.snapshot().getFirst().health()).isEqualTo(HealthState.UNREACHABLE);

        losesAnswers = false;
        await(() -> state() == HealthState.HEALTHY);
    }

    @Test
    void probes_of_a_silent_worker_do_not_pile_up() {
        servesNobody = true;
        await(() -> calls.get() >= 10);
        assertThat(mostOpen).as("each was given up before the next").hasValue(0);
    }

    @Test
    void one_lost_answer_is_not_enough() {
        for (int i = 0; i < 5; i++) {
            worker.health().probeUnanswered("lost");
            worker.health().probeAnswered();
        }
        assertThat(state()).isEqualTo(HealthState.HEALTHY);
    }

    private HealthState state() {
        return worker.health().state(System.nanoTime());
    }

    private void accept() {
        List<SocketChannel> unserved = new ArrayList<>();
        try {
            while (true) {
                SocketChannel caller = server.accept();
                if (servesNobody) {
                    unserved.removeIf(ReachabilityProbeTest::hasHungUp);
                    mostOpen.accumulateAndGet(unserved.size(), Math::max);
                    caller.configureBlocking(false);
                    unserved.add(caller);
                    calls.incrementAndGet();
                } else {
                    Thread.ofVirtual().start(() -> serve(caller.socket()));
                }
            }
        } catch (IOException e) {
            // the test is over
        }
    }

    /** Whoever hangs up before calling again has done so by the time the next call is here. */
    private static boolean hasHungUp(SocketChannel caller) {
        try {
            var bytes = ByteBuffer.allocate(4_096);
            int count = caller.read(bytes);
            while (count > 0) {
                count = caller.read(bytes.clear());
            }
            return count < 0;
        } catch (IOException e) {
            return true;
        }
    }

    private void serve(Socket socket) {
        int served = 0;
        try (socket; var in = new BufferedReader(
                new InputStreamReader(socket.getInputStream(), StandardCharsets.ISO_8859_1))) {
            var head = new StringBuilder();
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                head.append(line).append('\n');
                if (line.isEmpty()) {
                    lastRequest = head.toString();
                    head.setLength(0);
                    requests.incrementAndGet();
                    mostOverOneConnection.accumulateAndGet(++served, Math::max);
                    if (!losesAnswers) {
                        socket.getOutputStream().write("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
                                .getBytes(StandardCharsets.ISO_8859_1));
                    }
                }
            }
        } catch (IOException e) {
            // the prober has gone
        }
    }

    private static void await(BooleanSupplier condition) {
        long deadline = System.nanoTime() + Duration.ofMinutes(10).toNanos();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).isLessThan(deadline);
            try {
                Thread.sleep(5);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
