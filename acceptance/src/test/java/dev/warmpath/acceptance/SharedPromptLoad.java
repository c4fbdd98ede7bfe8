package dev.warmpath.acceptance;

import static dev.warmpath.acceptance.ConversationLoad.concat;
import static dev.warmpath.acceptance.ConversationLoad.randomTokens;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Conversations of 1 to 6 turns, half a second apart, that begin with one of 24 system prompts of 256 to 768 tokens,
 * popular as 1/rank; a turn adds 16 to 64 tokens, an answer has 16. Each turn goes to a router drawn by chance.
 *
 * <p>All that is said is drawn from the seed, what clients quote as the answers too: each fleet is sent the very same
 * prompts, whatever it answers.
 */
final class SharedPromptLoad {

    private static final int SYSTEM_PROMPTS = 24;
    private static final int MOST_TURNS = 6;
    private static final double MEAN_TURNS = (1 + MOST_TURNS) / 2.0;
    private static final int ANSWER_TOKENS = 16;
    private static final double THINK_NANOS = 0.5e9;
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final List<Gateway> routers;
    private final SplittableRandom random;
    private final SplittableRandom balancer;
    private final int[][] systemPrompts = new int[SYSTEM_PROMPTS][];

    /**
     * One request.
     *
     * @param status       200 only if the answer has its end
     * @param cachedTokens of its prompt, as the worker counts them
     * @param firstNanos   from its sending to the first text
     */
    record Turn(int status, String worker, int promptTokens, int cachedTokens, long firstNanos) {

        int computedTokens() {
            return promptTokens - cachedTokens;
        }
    }

    private record Conversation(List<int[]> prompts, long[] thinkNanos) {}

    SharedPromptLoad(List<Gateway> routers, long seed) {
        this.routers = routers;
        random = new SplittableRandom(seed);
        balancer = random.split();
        for (int i = 0; i < SYSTEM_PROMPTS; i++) {
            systemPrompts[i] = randomTokens(random, 256, 768);
        }
    }

    /**
     * So many clients lead one conversation after the other and never think.
     *
     * @return requests a second
     */
    double saturate(int clients, int conversations) {
        List<Conversation> all = draw(conversations);
        long startNanos = System.nanoTime();
        var turns = new ConcurrentLinkedQueue<Turn>();
        try (var threads = Executors.newFixedThreadPool(clients)) {
            await(all.stream().map(each -> threads.<Void>submit(() -> lead(each, 0, turns))).toList());
        }
        return turns.size() * 1e9 / (System.nanoTime() - startNanos);
    }

    /** Conversations begin at random (Poisson), whether others are answered or not. @return when all have ended */
    List<Turn> offer(int conversations, double requestsPerSecond) {
        var turns = new ConcurrentLinkedQueue<Turn>();
        List<Future<Void>> running = new ArrayList<>();
        List<Conversation> all = draw(conversations);
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            double nanos = System.nanoTime();
            for (Conversation each : all) {
                nanos += exponential(random, 1e9 * MEAN_TURNS / requestsPerSecond);
                while (System.nanoTime() < nanos) {
                    LockSupport.parkNanos((long) nanos - System.nanoTime());
                }
                running.add(threads.submit(() -> lead(each, 1, turns)));
            }
            await(running);
        }
        return List.copyOf(turns);
    }

    private static void await(List<Future<Void>> running) {
        try {
            for (Future<Void> each : running) {
                each.get();
            }
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while waiting for the fleet", e);
        }
    }

    private Void lead(Conversation conversation, int thinking, Queue<Turn> turns)
            throws IOException, InterruptedException {
        for (int turn = 0; turn < conversation.prompts.size(); turn++) {
            TimeUnit.NANOSECONDS.sleep(thinking * conversation.thinkNanos[turn]);
            turns.add(ask(conversation.prompts.get(turn)));
        }
        return null;
    }

    private Turn ask(int[] prompt) throws IOException, InterruptedException {
        String tokens = Arrays.stream(prompt).mapToObj(Integer::toString).collect(Collectors.joining(","));
        HttpRequest request = HttpRequest.newBuilder(router().uri("/v1/completions")).timeout(Await.PATIENCE)
                .header("content-type", "application/json")
                .POST(BodyPublishers.ofString("""
                        {"model":"%s","stream":true,"stream_options":{"include_usage":true},"temperature":0,
                        "ignore_eos":true,"max_tokens":%d,"prompt":[%s]}"""
                        .formatted(LocalFleet.MODEL, ANSWER_TOKENS, tokens)))
                .build();
        long startNanos = System.nanoTime();
        HttpResponse<InputStream> response = http.send(request, BodyHandlers.ofInputStream());
        long firstNanos = 0;
        JsonNode usage = JSON.createObjectNode();
        boolean hasEnded = false;
        try (var lines = new BufferedReader(new InputStreamReader(response.body(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith("data: {") && firstNanos == 0) {
                    firstNanos = System.nanoTime() - startNanos;
                }
                if (line.contains("\"usage\":{")) {
                    usage = JSON.readTree(line.substring("data: ".length())).path("usage");
                }
                hasEnded |= line.equals("data: [DONE]");
            }
        }
        return new Turn(response.statusCode() == 200 && !hasEnded ? 0 : response.statusCode(),
                response.headers().firstValue("x-warmpath-worker").orElse(""), prompt.length,
                usage.path("prompt_tokens_details").path("cached_tokens").asInt(0), firstNanos);
    }

    private synchronized Gateway router() {
        return routers.get(balancer.nextInt(routers.size()));
    }

    private List<Conversation> draw(int count) {
        List<Conversation> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int[] said = systemPrompts[popular()];
            List<int[]> prompts = new ArrayList<>();
            long[] thinkNanos = new long[random.nextInt(MOST_TURNS) + 1];
            for (int turn = 0; turn < thinkNanos.length; turn++) {
                said = concat(said, randomTokens(random, 16, 64));
                prompts.add(said);
                thinkNanos[turn] = turn == 0 ? 0 : (long) exponential(random, THINK_NANOS);
                said = concat(said, randomTokens(random, ANSWER_TOKENS, ANSWER_TOKENS));
            }
            all.add(new Conversation(prompts, thinkNanos));
        }
        return all;
    }

    /** A rank from 0, r with a probability in proportion to 1 / (r + 1). */
    private int popular() {
        while (true) {
            int rank = random.nextInt(SYSTEM_PROMPTS);
            if (random.nextDouble() < 1.0 / (rank + 1)) {
                return rank;
            }
        }
    }

    private static double exponential(SplittableRandom random, double mean) {
        return -mean * Math.log(1 - random.nextDouble());
    }
}
