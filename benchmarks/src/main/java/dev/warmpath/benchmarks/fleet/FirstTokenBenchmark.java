package dev.warmpath.benchmarks.fleet;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.stream.Collectors;

/**
 * What prefix reuse is worth, and how fast a worker is: time to the first token of a cached and of an uncached prompt,
 * taken in turns so that a noisy machine disturbs both alike, and the rates of prefill and decode.
 *
 * <p>Prompts are uniformly random token ids; every uncached prompt is new. Run against a fleet that is up:
 * <pre>
 * ./warmpath up --detach
 * mvn -q -B -pl benchmarks -am package -DskipTests
 * java -cp benchmarks/target/benchmarks.jar dev.warmpath.benchmarks.fleet.FirstTokenBenchmark http://127.0.0.1:8080
 * </pre>
 */
public final class FirstTokenBenchmark {

    private static final String MODEL = "warmpath-tiny";
    /** Below the first special token of the model's vocabulary. */
    private static final int ORDINARY_TOKENS = 2_000;
    private static final int WARM_UP_REQUESTS = 200;
    private static final int ROUNDS = 20;
    private static final int PROMPT_TOKENS = 1_500;
    private static final int DECODED_TOKENS = 256;
    private static final double MILLI = 1e6;

    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final SplittableRandom random = new SplittableRandom(42);
    private final URI completions;

    private FirstTokenBenchmark(URI router) {
        this.completions = router.resolve("/v1/completions");
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        new FirstTokenBenchmark(URI.create(args.length > 0 ? args[0] : "http://127.0.0.1:8080")).run();
    }

    private void run() throws IOException, InterruptedException {
        System.out.printf("warming up with %d unrelated requests ...%n", WARM_UP_REQUESTS);
        for (int i = 0; i < WARM_UP_REQUESTS; i++) {
            send(randomPrompt(50 + random.nextInt(350)), 8);
        }
        int[] repeated = randomPrompt(PROMPT_TOKENS);
        send(repeated, 1);

        double[] uncached = new double[ROUNDS];
        double[] cached = new double[ROUNDS];
        for (int i = 0; i < ROUNDS; i++) {
            uncached[i] = send(randomPrompt(PROMPT_TOKENS), 1).firstNanos();
            cached[i] = send(repeated, 1).firstNanos();
        }
        double[] decode = new double[ROUNDS];
        for (int i = 0; i < ROUNDS; i++) {
            Timing timing = send(randomPrompt(16), DECODED_TOKENS);
            decode[i] = (DECODED_TOKENS - 1) / ((timing.lastNanos() - timing.firstNanos()) / 1e9);
        }
        print(uncached, cached, decode);
    }

    private static void print(double[] uncached, double[] cached, double[] decode) {
        Arrays.sort(uncached);
        Arrays.sort(cached);
        Arrays.sort(decode);
        System.out.printf("%n%-48s %10s %10s %10s%n", "", "least", "median", "most");
        row("time to first token, uncached, ms", uncached, MILLI);
        row("time to first token, cached, ms", cached, MILLI);
        row("decode, one stream, tokens/s", decode, 1);
        System.out.printf("%-48s %10s %10.0f%n", "prefill, one prompt, tokens/s (HTTP included)", "",
                PROMPT_TOKENS / (median(uncached) / 1e9));
        System.out.printf("%-48s %10s %9.1fx%n", "uncached over cached, medians", "", median(uncached) / median(cached));
        System.out.printf("%n%d rounds, prompts of %d tokens, %d tokens decoded per stream%n",
                ROUNDS, PROMPT_TOKENS, DECODED_TOKENS);
    }

    private static void row(String name, double[] sorted, double unit) {
        System.out.printf("%-48s %10.1f %10.1f %10.1f%n",
                name, sorted[0] / unit, median(sorted) / unit, sorted[sorted.length - 1] / unit);
    }

    private static double median(double[] sorted) {
        int half = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    }

    private int[] randomPrompt(int tokenCount) {
        return random.ints(tokenCount, 0, ORDINARY_TOKENS).toArray();
    }

    /** Nanoseconds from sending to the first event and to the last. */
    private record Timing(long firstNanos, long lastNanos) {}

    private Timing send(int[] prompt, int maxTokens) throws IOException, InterruptedException {
        String body = """
                {"model":"%s","stream":true,"temperature":0,"ignore_eos":true,"max_tokens":%d,"prompt":[%s]}"""
                .formatted(MODEL, maxTokens,
                        Arrays.stream(prompt).mapToObj(Integer::toString).collect(Collectors.joining(",")));
        HttpRequest request = HttpRequest.newBuilder(completions)
                .header("content-type", "application/json").POST(BodyPublishers.ofString(body)).build();
        long start = System.nanoTime();
        HttpResponse<InputStream> response = client.send(request, BodyHandlers.ofInputStream());
        if (response.statusCode() != 200) {
            throw new IOException("status " + response.statusCode() + ": "
                    + new String(response.body().readAllBytes(), StandardCharsets.UTF_8));
        }
        long first = 0;
        long last = 0;
        boolean done = false;
        try (var lines = new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith("data:")) {
                    last = System.nanoTime();
                    first = first == 0 ? last : first;
                    done = line.endsWith("[DONE]");
                }
            }
        }
        if (!done) {
            throw new IOException("the stream ended without [DONE]");
        }
        return new Timing(first - start, last - start);
    }
}
