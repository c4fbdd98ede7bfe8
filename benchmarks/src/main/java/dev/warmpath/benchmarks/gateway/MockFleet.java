package dev.warmpath.benchmarks.gateway;

import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.databind.json.JsonMapper;

/** Two mock workers. They generate by themselves; what they tell a router beside that is said here for them. */
final class MockFleet implements AutoCloseable {

    private static final int WORKERS = 2;
    private static final long EPOCH = 1;
    private static final int BLOCKS = 1_000_000;
    private static final int SEQUENCES = 4_096;
    private static final Duration HEARTBEAT = Duration.ofSeconds(1);
    private static final Duration BACK_SOON = Duration.ofMillis(20);
    private static final int NO_CONTENT = 204;

    private final HttpClient http = HttpClient.newHttpClient();
    private final MockModel model;
    private final List<Worker> workers = new ArrayList<>();

    private record Worker(String id, Process process, int port) {

        URI url() {
            return URI.create("http://127.0.0.1:" + port);
        }
    }

    /** @param files of the model, by their digests */
    MockFleet(NativeTools tools, MockModel model, Path files) throws IOException {
        this.model = model;
        for (int i = 0; i < WORKERS; i++) {
            String id = "mock-" + i;
            Path snapshot = Files.write(files.resolve(id),
                    EventFrames.encode(new KvEventBatch(id, EPOCH, 0, true, List.of(), 0, 0)));
            Process process = tools.startMock(snapshot, files);
            String ready = process.inputReader().readLine();
            workers.add(new Worker(id, process, Integer.parseInt(ready.replaceAll("\\D", ""))));
        }
    }

    List<Integer> ports() {
        return workers.stream().map(Worker::port).toList();
    }

    /** What they have given so far. @param cut answers whose reader left early */
    record Given(long ended, long cut, long promptTokens) {

        Given plus(Given other) {
            return new Given(ended + other.ended, cut + other.cut, promptTokens + other.promptTokens);
        }

        /** Mean of the requests since then; 0 of those that do not come as token ids. */
        long promptTokensSince(Given before) {
            return ended == before.ended ? 0 : (promptTokens - before.promptTokens) / (ended - before.ended);
        }
    }

    Given given() throws IOException, InterruptedException {
        var all = new Given(0, 0, 0);
        for (Worker worker : workers) {
            all = all.plus(JsonMapper.shared().readValue(ask(worker, "/stats"), Given.class));
        }
        return all;
    }

    /** For the requests that come from now on. */
    void setPace(Load.Pace pace) throws IOException, InterruptedException {
        for (Worker worker : workers) {
            ask(worker, "/pace?first_us=0&interval_us=" + pace.intervalMicros() + "&per_write="
                    + pace.tokensPerWrite());
        }
    }

    private String ask(Worker worker, String order) throws IOException, InterruptedException {
        HttpResponse<String> response = http.send(HttpRequest.newBuilder(worker.url().resolve(order))
                .POST(BodyPublishers.noBody()).build(), BodyHandlers.ofString());
        if (response.statusCode() != 200) {
            throw new IOException("the mock worker answers " + response.statusCode() + " to " + order);
        }
        return response.body();
    }

    /**
     * Introduces the workers to a router and keeps their leases until the thread that is returned is interrupted.
     *
     * @param management the router's port for workers
     */
    Thread introduceTo(URI management) {
        return Thread.ofVirtual().start(() -> stayInTouch(management));
    }

    private void stayInTouch(URI management) {
        boolean[] known = new boolean[workers.size()];
        try {
            while (true) {
                boolean all = true;
                for (int i = 0; i < known.length; i++) {
                    known[i] = post(management, workers.get(i), known[i]);
                    all &= known[i];
                }
                Thread.sleep(all ? HEARTBEAT : BACK_SOON);
            }
        } catch (InterruptedException e) {
            // nobody listens any more
        }
    }

    private boolean post(URI management, Worker worker, boolean known) throws InterruptedException {
        Object message = known ? new Heartbeat(worker.id, EPOCH, 0, 0, BLOCKS, 0, 0, 0, 0)
                : new Registration(Protocol.VERSION, worker.id, EPOCH, worker.url(), model.description(), BLOCKS,
                        SEQUENCES, true).withPackedPrompts();
        String path = known ? Protocol.HEARTBEATS_PATH : Protocol.REGISTRATIONS_PATH;
        try {
            return http.send(HttpRequest.newBuilder(management.resolve(path)).header("content-type", "application/json")
                    .POST(BodyPublishers.ofString(JsonMapper.shared().writeValueAsString(message))).build(),
                    BodyHandlers.discarding()).statusCode() == NO_CONTENT;
        } catch (IOException e) {
            return false;                                          // the router is not there yet
        }
    }

    @Override
    public void close() {
        workers.forEach(worker -> worker.process.destroy());
        http.close();
    }
}
