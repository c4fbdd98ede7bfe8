package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/**
 * The chart on a real Kubernetes, with the images as they are built: installed with no values, then a fleet's whole life
 * under load, in namespaces that enforce the pod security standard <i>restricted</i>. Probes, preStop, grace and memory
 * limits are the chart's. Requests for processors are lower, so that it fits on two cores, and nobody is refused because
 * they are slow. The table that it prints is in {@code docs/kubernetes.md}:
 * {@code mvn -B verify -Pfull -pl acceptance -am -Dtest=KubernetesTest -Dsurefire.failIfNoSpecifiedTests=false}.
 */
@Tag("full")                                        // eight minutes; the first time on a machine ten more
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class KubernetesTest {

    private static final String CHART = LocalFleet.ROOT.resolve("helm/warmpath").toString();
    private static final Path EXAMPLES = LocalFleet.ROOT.resolve("helm/examples");
    private static final String RELEASE = "demo";
    private static final String PLAIN = "plain";
    private static final String FLEET = "fleet";
    private static final String CARDS = "cards";
    private static final String TIMEOUT = "30m";
    private static final int STREAMS_PER_SECOND = 10;
    private static final int STREAMS_AROUND = 50;
    private static final String VALUES = """
            router:
              replicas: 2
              resources: {requests: {cpu: 50m}}
              settings: {admission: {max-wait: 10m}}
            workerDefaults:
              replicas: 3
              resources: {requests: {cpu: 100m}}
            workers:
              - name: tiny
                settings: {compute: {threads: 1}}
            redis:
              mode: builtin
              builtin: {image: "localhost/redis:test", resources: {requests: {cpu: 10m}}}
            tests: {image: "localhost/tools:test"}
            """;
    /**
     * Probes of processes that start or end, and of those that wait for their turn; and what controllers say of a state
     * that they work on and try again: a pod that has no place until the one before it has gone, or whose volume is not
     * bound yet, and slices of endpoints that changed while they were written.
     */
    private static final Set<String> EXPECTED_WARNINGS =
            Set.of("Unhealthy", "FailedScheduling", "FailedToUpdateEndpointSlices");

    private static final List<String> TABLE = new ArrayList<>();

    private static Cluster cluster;
    private static Set<String> emptyNamespace;
    @TempDir
    private static Path folder;

    @BeforeAll
    static void start() throws IOException {
        String missing = Podman.missing() + Cluster.missing();
        if (!missing.isEmpty()) {
            System.err.println("LEFT OUT: Kubernetes: " + missing);
        }
        assumeTrue(missing.isEmpty(), missing);
        Path pause = Cluster.build();
        var podman = new Podman();
        podman.buildImageOf("localhost/pause", pause.toString());
        podman.buildImageOf("localhost/redis:test", "redis-server");
        podman.buildImageOf("localhost/tools:test", "sh", "wget", "grep", "tee", "sleep");
        String said = podman.buildImages(folder);
        String router = built("router", said);
        String worker = built("worker", said);
        podman.buildImageOn(router, "localhost/warmpath-router:next", folder, "LABEL dev.warmpath.test=next");
        podman.buildImageOn(worker, "localhost/warmpath-worker:next", anotherRevision(),
                "COPY tokenizer_config.json /models/warmpath-tiny/");
        List<Path> images = new ArrayList<>();
        for (String image : List.of("localhost/pause", "localhost/redis:test", "localhost/tools:test", router, worker,
                "localhost/warmpath-router:next", "localhost/warmpath-worker:next")) {
            images.add(podman.saved(image));
        }
        cluster = new Cluster(images);
        for (String namespace : List.of(PLAIN, FLEET, CARDS)) {
            cluster.kubectl("create", "namespace", namespace);
            for (String mode : List.of("enforce", "warn")) {
                cluster.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/" + mode + "=restricted");
            }
        }
        Await.until("a namespace has what each one has", () -> objects(CARDS).size() >= 2);
        emptyNamespace = objects(CARDS);
    }

    /** The image with the project's version, which is the tag that the chart takes. */
    private static String built(String service, String said) {
        Matcher image = Pattern.compile("localhost/warmpath-" + service + ":\\S+").matcher(said);
        assertThat(image.find()).as(said).isTrue();
        return image.group();
    }

    /** A folder with what makes another revision of the same model: its chat template has a comment. */
    private static Path anotherRevision() throws IOException {
        Path original = LocalFleet.ROOT.resolve("models/warmpath-tiny/tokenizer_config.json");
        String text = Files.readString(original).replaceFirst("(\"chat_template\": \")", "$1{# another revision #}");
        assertThat(text).contains("{# another revision #}");
        Path copy = Files.createDirectories(folder.resolve("another-revision"));
        Files.writeString(copy.resolve("tokenizer_config.json"), text);
        return copy;
    }

    @AfterAll
    static void stop() {
        if (cluster != null) {
            TABLE.forEach(System.out::println);
            cluster.close();
        }
    }

    @Test
    @Order(1)
    void with_no_values_it_installs_in_a_restricted_namespace_answers_a_chat_and_uninstalls_without_a_trace() {
        timed("`helm install --wait` with no values (1 router, 2 workers)", () -> {
            String said = cluster.helm("install", RELEASE, CHART, "--namespace", PLAIN, "--wait", "--timeout", TIMEOUT);
            assertThat(said).contains("STATUS: deployed").doesNotContainIgnoringCase("warning");
        });
        awaitSettled(PLAIN, 3);
        String answer = cluster.run("curl", "--silent", "--fail-with-body", address(PLAIN) + "/v1/chat/completions",
                "--header", "content-type: application/json", "--header", "authorization: Bearer " + key(PLAIN),
                "--data", """
                        {"model": "warmpath-tiny", "messages": [{"role": "user", "content": "What is a KV cache?"}]}""");
        assertThat(answer).contains("\"finish_reason\":\"stop\"", "A KV cache keeps the keys and values");
        uninstall(PLAIN);
    }

    @Test
    @Order(2)
    void a_fleet_with_redis_passes_the_charts_own_test() throws IOException {
        Path values = Files.writeString(folder.resolve("values.yaml"), VALUES);
        timed("`helm install --wait` of 2 routers, 3 workers and the built-in Redis", () -> {
            String said = cluster.helm("install", RELEASE, CHART, "--namespace", FLEET, "--values", values.toString(),
                    "--wait", "--timeout", TIMEOUT);
            assertThat(said).doesNotContainIgnoringCase("warning");
        });
        awaitSettled(FLEET, 6);
        assertThat(cluster.helm("test", RELEASE, "--namespace", FLEET, "--logs", "--timeout", TIMEOUT))
                .contains("Phase:          Succeeded", "well");
    }

    @Test
    @Order(3)
    void another_revision_of_the_model_takes_over_and_no_stream_fails() throws Exception {
        underLoad("another revision of the model", 6, () -> upgrade("workerDefaults.image.tag=next"));
    }

    @Test
    @Order(4)
    void another_image_of_the_routers_takes_over_and_is_rolled_back_and_no_stream_fails() throws Exception {
        underLoad("another image of the routers", 6, () -> upgrade("router.image.tag=next"));
        underLoad("`helm rollback` of that", 6, () ->
                cluster.helm("rollback", RELEASE, "--namespace", FLEET, "--wait", "--timeout", TIMEOUT));
        assertThat(cluster.get("deployment", RELEASE + "-warmpath-router", "--namespace", FLEET).toString())
                .doesNotContain("warmpath-router:next");
    }

    @Test
    @Order(5)
    void workers_become_more_and_fewer_and_no_stream_fails() throws Exception {
        underLoad("workers 3 → 4", 7, () -> upgrade("workerDefaults.replicas=4"));
        underLoad("workers 4 → 2", 5, () -> upgrade("workerDefaults.replicas=2"));
        underLoad("workers 2 → 3", 6, () -> upgrade("workerDefaults.replicas=3"));
    }

    @Test
    @Order(6)
    void pods_of_a_worker_of_a_router_and_of_redis_are_deleted_and_no_stream_fails() throws Exception {
        for (String component : List.of("worker", "router", "redis")) {
            underLoad("a pod deleted: " + component, 6, () -> {
                String pod = pods(FLEET, component).getFirst().path("metadata").path("name").asString();
                cluster.kubectl("delete", "pod", pod, "--namespace", FLEET, "--wait=false");
                Await.until(pod + " is gone", () -> pods(FLEET, component).stream()
                        .noneMatch(each -> each.path("metadata").path("name").asString().equals(pod)));
            });
        }
    }

    @Test
    @Order(7)
    void the_fleets_token_is_exchanged_and_no_stream_fails() throws Exception {
        JsonNode before = cluster.get("secret", RELEASE + "-warmpath-tokens", "--namespace", FLEET).path("data");
        cluster.apply(FLEET, """
                apiVersion: v1
                kind: Secret
                metadata: {name: tokens-before}
                data: {fleet-token: %s, management-token: %s}
                ---
                apiVersion: v1
                kind: Secret
                metadata: {name: tokens-2}
                stringData: {fleet-token: "%s", management-token: "%s"}
                """.formatted(before.path("fleet-token").asString(), before.path("management-token").asString(),
                "2".repeat(64), "3".repeat(64)));
        underLoad("the tokens exchanged, the old ones still taken", 6, () ->
                upgrade("tokens.existingSecret=tokens-2,tokens.previousSecret=tokens-before"));
        underLoad("the old tokens taken away", 6, () -> upgrade("tokens.previousSecret="));
        cluster.kubectl("delete", "secret", "tokens-before", "--namespace", FLEET);
    }

    @Test
    @Order(8)
    void nothing_but_probes_was_warned_of_and_uninstalling_leaves_nothing() {
        assertThat(cluster.get("events", "--namespace", FLEET, "--field-selector", "type=Warning").path("items")
                .valueStream().filter(event -> !EXPECTED_WARNINGS.contains(event.path("reason").asString()))
                .map(event -> event.path("reason").asString() + ": " + event.path("message").asString())).isEmpty();
        cluster.kubectl("delete", "secret", "tokens-2", "--namespace", FLEET);
        uninstall(FLEET);
    }

    @Test
    @Order(9)
    void the_examples_with_cards_find_their_places_on_nodes_with_cards() throws IOException {
        for (int node = 1; node <= 8; node++) {
            cluster.pretend("cards-" + node, 8);
            cluster.kubectl("label", "node", "cards-" + node, "nvidia.com/gpu.product=NVIDIA-H200");
            cluster.kubectl("taint", "node", "cards-" + node, "nvidia.com/gpu=:NoSchedule");
        }
        cluster.pretend("plain-1", 0);
        cluster.kubectl("patch", "node", "cards-8", "--subresource", "status", "--type", "merge", "--patch",
                """
                {"status": {"capacity": {"nvidia.com/mig-3g.71gb": "8"}, "allocatable": {"nvidia.com/mig-3g.71gb": "8"}}}""");
        cluster.apply(CARDS, """
                apiVersion: node.k8s.io/v1
                kind: RuntimeClass
                metadata: {name: nvidia}
                handler: nvidia
                ---
                apiVersion: scheduling.k8s.io/v1
                kind: PriorityClass
                metadata: {name: serving}
                value: 1000
                ---
                apiVersion: v1
                kind: PersistentVolume
                metadata: {name: models}
                spec:
                  accessModes: [ReadWriteMany]
                  capacity: {storage: 1Ti}
                  hostPath: {path: /models}
                  storageClassName: ""
                ---
                apiVersion: v1
                kind: PersistentVolumeClaim
                metadata: {name: models}
                spec:
                  accessModes: [ReadWriteMany]
                  resources: {requests: {storage: 1Ti}}
                  storageClassName: ""
                """);
        Await.until("the claim has its volume", () -> cluster.get("pvc", "models", "--namespace", CARDS).path("status")
                .path("phase").asString().equals("Bound"));

        assertThat(placed("one-h200-node")).containsExactlyInAnyOrderElementsOf(
                Stream.concat(Stream.generate(() -> "worker with 1 nvidia.com/gpu").limit(8),
                        Stream.generate(() -> "router").limit(2)).toList());
        assertThat(placed("production", "--set", "workers[1].autoscaling.mode=hpa")).containsExactlyInAnyOrderElementsOf(
                Stream.of(Stream.generate(() -> "worker with 1 nvidia.com/gpu").limit(56),
                        Stream.generate(() -> "worker with 1 nvidia.com/mig-3g.71gb").limit(4),
                        Stream.generate(() -> "router").limit(3)).flatMap(each -> each).toList());
    }

    /** Installs an example on nodes that exist by name only, and takes it away. @return its pods, each with its card */
    private static List<String> placed(String example, String... options) {
        List<String> command = new ArrayList<>(List.of("install", RELEASE, CHART, "--namespace", CARDS,
                "--values", EXAMPLES.resolve(example).resolve("values.yaml").toString(),
                "--set", "monitoring.serviceMonitor=false,monitoring.podMonitor=false,monitoring.rules=false"));
        command.addAll(List.of(options));
        assertThat(cluster.helm(command.toArray(String[]::new))).doesNotContainIgnoringCase("warning");
        int wanted = deployments(CARDS).mapToInt(each -> each.path("spec").path("replicas").asInt(1)).sum();
        Await.until("all pods have their node", () -> pods(CARDS, "").stream()
                .filter(pod -> !pod.path("spec").path("nodeName").isMissingNode()).count() == wanted);
        List<String> placed = pods(CARDS, "").stream().map(KubernetesTest::withItsCard).toList();
        cluster.helm("uninstall", RELEASE, "--namespace", CARDS);
        cluster.kubectl("delete", "pods", "--all", "--namespace", CARDS, "--force", "--grace-period=0");
        return placed;
    }

    private static String withItsCard(JsonNode pod) {
        String component = pod.path("metadata").path("labels").path("app.kubernetes.io/component").asString();
        String node = pod.path("spec").path("nodeName").asString();
        StringBuilder card = new StringBuilder();
        pod.path("spec").path("containers").path(0).path("resources").path("limits").propertyStream()
                .filter(limit -> limit.getKey().startsWith("nvidia.com/"))
                .forEach(limit -> card.append(" with ").append(limit.getValue().asString()).append(' ')
                        .append(limit.getKey()));
        assertThat(node).as(component + card).startsWith(card.isEmpty() ? "" : "cards-").isNotEqualTo("node-1");
        return component + card;
    }

    /** What a person does, while streams begin and end. */
    @FunctionalInterface
    private interface Step {
        void run() throws Exception;
    }

    private static void upgrade(String set) {
        String said = cluster.helm("upgrade", RELEASE, CHART, "--namespace", FLEET, "--reuse-values", "--set", set, "--wait",
                "--timeout", TIMEOUT);
        assertThat(said).doesNotContainIgnoringCase("warning");
    }

    /** Streams begin before, go on meanwhile and after; not one fails. @param pods in the end */
    private static void underLoad(String what, int pods, Step step) throws Exception {
        Path output = folder.resolve(what.replaceAll("\\W+", "-") + ".log");
        Process load = cluster.start(output, Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp", Path.of("target/test-classes").toAbsolutePath().toString(), StreamLoad.class.getName(),
                address(FLEET), Integer.toString(STREAMS_PER_SECOND), key(FLEET));
        try {
            awaitAnswers(load, output, STREAMS_AROUND);
            long begin = System.nanoTime();
            step.run();
            awaitSettled(FLEET, pods);
            long seconds = (System.nanoTime() - begin) / 1_000_000_000;
            awaitAnswers(load, output, answers(output) + STREAMS_AROUND);
            load.getOutputStream().close();
            assertThat(load.waitFor()).isZero();
            String said = Files.readString(output);
            Matcher sum = Pattern.compile("sent (\\d+), answered \\d+, failed (\\d+), slowest (\\d+) ms").matcher(said);
            assertThat(sum.find()).as(said).isTrue();
            TABLE.add("| %s | %s | %s | %.1f s | %d s |".formatted(what, sum.group(1), sum.group(2),
                    Integer.parseInt(sum.group(3)) / 1e3, seconds));
            assertThat(sum.group(2)).as(said).isEqualTo("0");
        } finally {
            load.destroy();
        }
    }

    private static void awaitAnswers(Process load, Path output, int count) {
        Await.until(count + " streams have been answered", () -> {
            assertThat(load.isAlive()).as("the load goes on").isTrue();
            return answers(output) >= count;
        });
    }

    private static int answers(Path output) {
        try (Stream<String> lines = Files.lines(output)) {
            return lines.filter(line -> line.startsWith("answered "))
                    .mapToInt(line -> Integer.parseInt(line.substring("answered ".length()))).max().orElse(0);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void timed(String what, Runnable step) {
        long begin = System.nanoTime();
        step.run();
        TABLE.add("| %s | | | | %d s |".formatted(what, (System.nanoTime() - begin) / 1_000_000_000));
    }

    /** So many pods, all ready, none of them going, and no container of them ended before. */
    private static void awaitSettled(String namespace, int count) {
        Await.until(count + " pods are ready", () -> {
            List<JsonNode> pods = pods(namespace, "");
            pods.forEach(KubernetesTest::requireFirstLife);
            return pods.size() == count && pods.stream().allMatch(KubernetesTest::isReady);
        });
    }

    private static boolean isReady(JsonNode pod) {
        return pod.path("metadata").path("deletionTimestamp").isMissingNode()
                && pod.path("status").path("conditions").valueStream().anyMatch(condition ->
                        condition.path("type").asString().equals("Ready")
                                && condition.path("status").asString().equals("True"));
    }

    private static void requireFirstLife(JsonNode pod) {
        pod.path("status").path("containerStatuses").forEach(container ->
                assertThat(container.path("restartCount").asInt()).as(container.toPrettyString()).isZero());
    }

    /** @param component of the chart; empty: of all */
    private static List<JsonNode> pods(String namespace, String component) {
        String selector = "app.kubernetes.io/component" + (component.isEmpty() ? "!=test" : "=" + component);
        return cluster.get("pods", "--namespace", namespace, "--selector", selector).path("items").valueStream().toList();
    }

    private static Stream<JsonNode> deployments(String namespace) {
        return cluster.get("deployments", "--namespace", namespace).path("items").valueStream();
    }

    private static String address(String namespace) {
        return "http://" + cluster.get("service", RELEASE + "-warmpath", "--namespace", namespace).path("spec")
                .path("clusterIP").asString();
    }

    /** The one that the chart has made. */
    private static String key(String namespace) {
        String encoded = cluster.get("secret", RELEASE + "-warmpath-operator-key", "--namespace", namespace)
                .path("data").path("operator-key").asString();
        return new String(Base64.getDecoder().decode(encoded), StandardCharsets.UTF_8);
    }

    private static void uninstall(String namespace) {
        timed("`helm uninstall`, until nothing is left of " + namespace, () -> {
            cluster.helm("uninstall", RELEASE, "--namespace", namespace, "--wait", "--timeout", TIMEOUT);
            Await.until("nothing is left in " + namespace, () -> objects(namespace).equals(emptyNamespace));
        });
    }

    /** All that a namespace holds, but for what happened in it. */
    private static Set<String> objects(String namespace) {
        String kinds = String.join(",", cluster.kubectl("api-resources", "--namespaced", "--verbs=list", "--output=name")
                .lines().filter(kind -> !kind.startsWith("events")).toList());
        return new TreeSet<>(cluster.kubectl("get", kinds, "--namespace", namespace, "--output=name", "--ignore-not-found")
                .lines().toList());
    }
}
