package dev.warmpath.acceptance;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

/**
 * Clients that open so many streamed chats a second, whether or not those before have ended, until standard input ends.
 * Nothing is tried twice. Each stream that does not end as it should is a line with the reason, every tenth one that
 * does is one, too, {@code answered 110}, and the last line is {@code sent 120, answered 120, failed 0, slowest 812 ms}:
 *
 * <pre>{@code java -cp target/test-classes dev.warmpath.acceptance.StreamLoad http://router:80 10 KEY}</pre>
 *
 * A program of its own, since it runs where a cluster's addresses are; it needs nothing but the JDK.
 */
final class StreamLoad {

    private static final int CONVERSATIONS = 20;
    private static final String REQUEST = """
            {"model": "%s", "stream": true, "temperature": 0, "max_tokens": 16, "messages": [
              {"role": "system", "content": "You answer for desk %d. %s"}, {"role": "user", "content": "%s"}]}
            """;
    private static final String RULES = "Answer in one sentence and stay polite. ".repeat(5);
    private static final List<String> QUESTIONS =
            List.of("What is a KV cache?", "What is preemption?", "What is a block table?", "What is TPOT?");
    private static final Duration PATIENCE = Duration.ofMinutes(5);

    /** Each keeps its connections, so that a router is left only when it says so. */
    private final List<HttpClient> clients = IntStream.range(0, 4)
            .mapToObj(_ -> HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build())
            .toList();

    private final URI chats;
    private final String key;
    private final AtomicInteger answered = new AtomicInteger();
    private final AtomicInteger failed = new AtomicInteger();
    private final AtomicInteger slowestMillis = new AtomicInteger();
    private final long startNanos = System.nanoTime();

    private StreamLoad(URI chats, String key) {
        this.chats = chats;
        this.key = key;
    }

    public static void main(String[] arguments) {
        var load = new StreamLoad(URI.create(arguments[0] + "/v1/chat/completions"), arguments[2]);
        load.run(Integer.parseInt(arguments[1]), untilInputEnds());
    }

    private static Thread untilInputEnds() {
        return Thread.ofVirtual().start(() -> {
            try {
                System.in.transferTo(System.err);
            } catch (IOException e) {
                System.err.println(e);
            }
        });
    }

    private void run(int streamsPerSecond, Thread wanted) {
        int sent = 0;
        try (var streams = Executors.newVirtualThreadPerTaskExecutor()) {
            while (wanted.isAlive()) {
                int number = sent++;
                streams.execute(() -> stream(number));
                long nextNanos = startNanos + sent * Duration.ofSeconds(1).toNanos() / streamsPerSecond;
                LockSupport.parkNanos(nextNanos - System.nanoTime());
            }
        }
        System.out.printf(Locale.ROOT, "sent %d, answered %d, failed %d, slowest %d ms%n",
                sent, answered.get(), failed.get(), slowestMillis.get());
    }

    private void stream(int number) {
        long sentNanos = System.nanoTime();
        String fault = faultOf(number);
        int millis = (int) ((System.nanoTime() - sentNanos) / 1_000_000);
        slowestMillis.accumulateAndGet(millis, Math::max);
        if (fault.isEmpty()) {
            int count = answered.incrementAndGet();
            if (count % 10 == 0) {
                System.out.println("answered " + count);
            }
        } else {
            failed.incrementAndGet();
            System.out.printf(Locale.ROOT, "%.1f s: stream %d failed after %d ms: %s%n",
                    (sentNanos - startNanos) / 1e9, number, millis, fault);
        }
    }

    /** @return why the stream was no answer; empty if it was one */
    private String faultOf(int number) {
        String body = REQUEST.formatted(LocalFleet.MODEL, number % CONVERSATIONS, RULES,
                QUESTIONS.get(number % QUESTIONS.size()));
        HttpRequest request = HttpRequest.newBuilder(chats).timeout(PATIENCE).header("content-type", "application/json")
                .header("authorization", "Bearer " + key).POST(BodyPublishers.ofString(body)).build();
        try {
            HttpResponse<String> response =
                    clients.get(number % clients.size()).send(request, BodyHandlers.ofString());
            String text = response.body();
            boolean isWhole = response.statusCode() == 200 && text.stripTrailing().endsWith("data: [DONE]")
                    && text.contains("\"finish_reason\":\"") && !text.contains("\"error\"");
            return isWhole ? "" : response.statusCode() + " " + text.strip().replace('\n', ' ');
        } catch (IOException e) {
            return e.toString();
        } catch (InterruptedException e) {
            return "interrupted";
        }
    }
}
