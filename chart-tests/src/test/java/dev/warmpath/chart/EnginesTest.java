package dev.warmpath.chart;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.EnvVar;
import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.VolumeMount;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.apps.DeploymentSpec;
import io.fabric8.kubernetes.api.model.networking.v1.NetworkPolicy;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Workers beside engines of somebody else's: in their pods, or elsewhere. */
class EnginesTest {

    private static final String WORKER = "demo-warmpath-worker-a";
    private static final String MODEL = "model: {name: llama, source: pvc, claim: models, path: l}";
    private static final String IMAGE = "image: {repository: docker.io/vllm/vllm-openai, tag: v0.32.0}";
    private static final String SIDECAR = """
            workers:
              - name: a
                %s
                gpu: {enabled: true, count: 2}
                engine:
                  kind: vllm
                  %s
                  args: [$(MODEL_DIRECTORY), --served-model-name=$(MODEL_NAME)]
                  env: [{name: HF_TOKEN, valueFrom: {secretKeyRef: {name: hub, key: token}}}]
                  apiKeySecret: engine-key
                  startupSeconds: 600
                  stopSeconds: 30
            """.formatted(MODEL, IMAGE);

    @Test
    void an_engine_in_the_pod_is_there_before_the_worker_and_goes_after_it() {
        Rendered rendered = Chart.render(SIDECAR);

        Container engine = engine(rendered);
        assertThat(engine.getRestartPolicy()).as("a sidecar").isEqualTo("Always");
        assertThat(engine.getImage()).isEqualTo("docker.io/vllm/vllm-openai:v0.32.0");
        assertThat(engine.getStartupProbe().getFailureThreshold()).isEqualTo(120);
        assertThat(engine.getStartupProbe().getPeriodSeconds()).isEqualTo(5);
        assertThat(engine.getReadinessProbe()).as("the worker's is").isNull();
        DeploymentSpec plain = Chart.render("workers: [{name: a}]").one(Deployment.class, WORKER).getSpec();
        DeploymentSpec beside = rendered.one(Deployment.class, WORKER).getSpec();
        assertThat(beside.getTemplate().getSpec().getTerminationGracePeriodSeconds())
                .isEqualTo(plain.getTemplate().getSpec().getTerminationGracePeriodSeconds() + 30);
        assertThat(beside.getProgressDeadlineSeconds()).isEqualTo(plain.getProgressDeadlineSeconds() + 600 + 30);
    }

    @Test
    void the_card_is_the_engines_and_the_worker_needs_no_image_for_it() {
        Rendered rendered = Chart.render(SIDECAR);

        assertThat(engine(rendered).getResources().getLimits())
                .containsEntry("nvidia.com/gpu", new Quantity("2"))
                .containsEntry("memory", new Quantity("32Gi"));
        assertThat(rendered.container(WORKER).getResources().getLimits())
                .isEqualTo(Map.of("memory", new Quantity("1536Mi")));
        assertThat(rendered.container(WORKER).getImage()).isEqualTo("localhost/warmpath-worker:0.1.0-SNAPSHOT");
    }

    @Test
    void the_worker_is_told_where_the_engine_is_and_nothing_of_computing() {
        Rendered rendered = Chart.render(SIDECAR);

        assertThat(rendered.env(WORKER, "WARMPATH_ENGINE_KIND")).isEqualTo("vllm");
        assertThat(rendered.env(WORKER, "WARMPATH_ENGINE_URL")).isEqualTo("http://127.0.0.1:8000");
        assertThat(rendered.env(WORKER, "WARMPATH_MODEL_DIRECTORY")).isEqualTo("/models/l");
        assertThat(rendered.container(WORKER).getEnv())
                .extracting(EnvVar::getName)
                .contains("WARMPATH_ENGINE_APIKEY")
                .doesNotContain("WARMPATH_ENGINE_MODEL", "WARMPATH_COMPUTE_BACKEND", "WARMPATH_MODEL_DIGESTCACHE",
                        "HF_TOKEN");
        assertThat(engine(rendered).getEnv())
                .extracting(EnvVar::getName)
                .containsExactly("HOME", "USER", "MODEL_DIRECTORY", "MODEL_NAME", "HF_TOKEN");
        assertThat(Environment.unknown(rendered)).isEmpty();
    }

    @Test
    void both_read_the_model_and_the_engine_writes_to_places_of_its_own() {
        Rendered rendered = Chart.render(SIDECAR);

        assertThat(engine(rendered).getVolumeMounts())
                .extracting(VolumeMount::getMountPath)
                .containsExactly("/tmp", "/cache", "/dev/shm", "/models");
        assertThat(rendered.container(WORKER).getVolumeMounts())
                .extracting(VolumeMount::getMountPath)
                .containsExactly("/tmp", "/models");
        assertThat(pod(rendered).getVolumes())
                .filteredOn(volume -> volume.getName().equals("engine-shm"))
                .singleElement()
                .satisfies(volume -> {
                    assertThat(volume.getEmptyDir().getMedium()).isEqualTo("Memory");
                    assertThat(volume.getEmptyDir().getSizeLimit()).isEqualTo(new Quantity("2Gi"));
                });
        assertThat(RestrictedPods.faults(pod(rendered))).isEmpty();
    }

    @Test
    void what_an_engine_cannot_do_without_is_given_to_it_alone() {
        Rendered rendered = Chart.render(SIDECAR + """
                  cache: {claim: kept}
                  securityContext: {readOnlyRootFilesystem: false, runAsUser: 2000}
            """);

        assertThat(RestrictedPods.faults(pod(rendered))).containsExactly("engine: a writable root");
        assertThat(engine(rendered).getSecurityContext().getRunAsUser()).isEqualTo(2000);
        assertThat(engine(rendered).getSecurityContext().getCapabilities().getDrop()).containsExactly("ALL");
        assertThat(pod(rendered).getVolumes())
                .anySatisfy(volume -> assertThat(volume.getPersistentVolumeClaim())
                        .isNotNull()
                        .satisfies(claim -> assertThat(claim.getClaimName()).isEqualTo("kept")));
    }

    @Test
    void nobody_outside_of_the_pod_reaches_an_engine_in_it() {
        var flows = new NetworkFlows(Chart.render(SIDECAR));

        assertThat(flows.areOpen("router", "worker", 8081)).isTrue();
        for (int port : new int[] {8000, 5557, 5558}) {
            assertThat(flows.areOpen("router", "worker", port)).isFalse();
            assertThat(flows.areOpen(NetworkFlows.STRANGER, "worker", port)).isFalse();
        }
        assertThat(flows.leadOut("worker", 443)).isFalse();
    }

    @Test
    void an_engine_elsewhere_has_no_container_here_and_its_ports_are_open_to_the_worker() {
        Rendered rendered = Chart.render("""
            workers:
              - name: a
                %s
                engine: {kind: vllm, url: "https://vllm-1.llm:8443", model: big, eventPorts: [6557]}
            networkPolicy: {engines: [{podSelector: {matchLabels: {app: vllm}}}]}
            """.formatted(MODEL));

        assertThat(pod(rendered).getInitContainers()).isEmpty();
        assertThat(rendered.env(WORKER, "WARMPATH_ENGINE_URL")).isEqualTo("https://vllm-1.llm:8443");
        assertThat(rendered.env(WORKER, "WARMPATH_ENGINE_MODEL")).isEqualTo("big");
        assertThat(rendered.one(NetworkPolicy.class, WORKER + "-to-engine").getSpec().getEgress())
                .singleElement()
                .satisfies(rule -> {
                    assertThat(rule.getPorts())
                            .extracting(port -> port.getPort().getIntVal())
                            .containsExactly(8443, 6557);
                    assertThat(rule.getTo()).hasSize(1);
                });
        assertThat(References.faults(rendered, Set.of())).isEmpty();
    }

    @Test
    void an_engine_elsewhere_that_tells_nothing_of_its_cache_has_no_ports_for_that() {
        Rendered rendered = Chart.render(
                "workers: [{name: a, engine: {kind: openai, url: 'http://e:8000'}, " + MODEL + "}]");

        assertThat(rendered.one(NetworkPolicy.class, WORKER + "-to-engine").getSpec().getEgress())
                .singleElement()
                .satisfies(rule -> assertThat(rule.getPorts())
                        .extracting(port -> port.getPort().getIntVal())
                        .containsExactly(8000));
    }

    @Test
    void an_engines_port_is_opened_to_who_scrapes_it_and_to_nobody_else() {
        String scraped = "monitoring: {engines: true, vllmNames: true}\n"
                + "networkPolicy: {monitoring: [{podSelector: {matchLabels: {app: prometheus}}}]}\n";
        Map<String, String> prometheus = Map.of("app", "prometheus");
        var beside = new NetworkFlows(Chart.render(scraped + SIDECAR));
        var computing = new NetworkFlows(Chart.render(scraped));
        var unwanted = new NetworkFlows(Chart.render(SIDECAR + scraped.replace("true", "false")));

        assertThat(beside.areOpen(prometheus, "worker", 8000)).isTrue();
        assertThat(beside.areOpen(prometheus, "worker", 9081)).isTrue();
        assertThat(beside.areOpen(prometheus, "worker", 8081)).as("no page for it there").isFalse();
        assertThat(beside.areOpen(prometheus, "worker", 5557)).isFalse();
        assertThat(beside.areOpen(prometheus, "router", 8000)).isFalse();
        assertThat(beside.areOpen(NetworkFlows.STRANGER, "worker", 8000)).isFalse();
        assertThat(beside.areOpen("router", "worker", 8000)).isFalse();
        assertThat(computing.areOpen(prometheus, "worker", 8081)).isTrue();
        assertThat(computing.areOpen(prometheus, "worker", 8000)).isFalse();
        assertThat(unwanted.areOpen(prometheus, "worker", 8000)).isFalse();
        assertThat(unwanted.areOpen(prometheus, "worker", 9081)).isTrue();
    }

    @Test
    void what_defaults_say_of_engines_does_no_harm_to_an_entry_that_has_none() {
        Rendered rendered = Chart.render(
                """
            workerDefaults: {engine: {kind: vllm, args: [--port=8000], env: [{name: A, value: b}]}}
            workers: [{name: a, engine: {kind: own, args: []}}]
            """);

        assertThat(pod(rendered).getInitContainers()).isEmpty();
    }

    @Test
    void a_worker_may_read_its_tokenizer_from_its_image_where_the_engine_has_a_model_of_its_own() {
        Rendered rendered = Chart.render(
                "workers: [{name: a, model: {name: m, path: /models/m}, engine: {kind: vllm, " + IMAGE
                        + ", args: [org/m]}}]");

        assertThat(engine(rendered).getArgs()).containsExactly("org/m");
    }

    static Stream<Arguments> contradictions() {
        return Stream.of(
                Arguments.of("engine: {url: 'http://e:8000'}", "engine.kind does not say which"),
                Arguments.of(
                        "engine: {image: {repository: vllm/vllm-openai, tag: v1}}",
                        "engine.kind does not say which"),
                Arguments.of("engine: {args: [--port=8000]}", "has engine.args, but engine.kind does not say which"),
                Arguments.of("engine: {command: [serve]}", "has engine.command, but"),
                Arguments.of("engine: {env: [{name: A, value: b}]}", "has engine.env, but"),
                Arguments.of("engine: {resources: {limits: {memory: 1Gi}}}", "has engine.resources, but"),
                Arguments.of("engine: {cache: {claim: c}}", "has engine.cache, but"),
                Arguments.of("engine: {kind: own, apiKeySecret: s}", "has engine.apiKeySecret, but"),
                Arguments.of("gpu: {enabled: true, count: 2}", "computes on one card, but gpu.count is 2"),
                Arguments.of("gpu: {count: 2}", "has no card, but gpu.count is 2"),
                Arguments.of("engine: {kind: vllm, IMAGE}, gpu: {count: 2}, MODEL", "has no card, but gpu.count is 2"),
                Arguments.of(
                        "engine: {kind: vllm, IMAGE}, gpu: {enabled: true, count: 2, resourceClaimTemplate: t}, MODEL",
                        "gpu.count means nothing"),
                Arguments.of("engine: {kind: vllm, url: 'http://e:8000'}", "model.name must say"),
                Arguments.of(
                        "engine: {kind: vllm, url: 'http://e:8000'}, model: {name: m}",
                        "where that one's tokenizer is"),
                Arguments.of("engine: {kind: vllm}, MODEL", "engine.image or engine.url must say which"),
                Arguments.of(
                        "engine: {kind: vllm, image: {repository: a/b}}, MODEL",
                        "needs engine.image.tag or engine.image.digest"),
                Arguments.of("engine: {kind: vllm, IMAGE, url: 'http://e:8000'}, MODEL", "only one can be"),
                Arguments.of(
                        "engine: {kind: vllm, url: 'http://e:8000'}, gpu: {enabled: true}, MODEL",
                        "gpu.enabled means nothing"),
                Arguments.of(
                        "engine: {kind: vllm, url: 'http://e:8000'}, replicas: 2, MODEL",
                        "an entry for each engine"),
                Arguments.of(
                        "engine: {kind: vllm, url: 'http://e:8000'}, autoscaling: {mode: hpa}, MODEL",
                        "an entry for each engine"),
                Arguments.of("engine: {kind: vllm, url: 'http://e', command: [a]}, MODEL", "engine.command means"),
                Arguments.of("engine: {kind: vllm, url: 'http://e', args: [-a]}, MODEL", "engine.args means nothing"),
                Arguments.of(
                        "engine: {kind: vllm, url: 'http://e', env: [{name: A, value: b}]}, MODEL",
                        "engine.env means nothing"),
                Arguments.of(
                        "engine: {kind: vllm, url: 'http://e', cache: {claim: c}}, MODEL",
                        "engine.cache means nothing"),
                Arguments.of("engine: {kind: vllm, IMAGE, port: 8081}, MODEL", "engine.port 8081, which the worker"),
                Arguments.of("engine: {kind: vllm, IMAGE, port: 9081}, MODEL", "engine.port 9081, which the worker"),
                Arguments.of(
                        "engine: {kind: vllm, IMAGE, args: [$(MODEL_DIRECTORY)]}, model: {name: m, path: /models/m}",
                        "is in the worker's image alone"),
                Arguments.of(
                        "engine: {kind: vllm, IMAGE}, settings: {compute: {threads: 2}}, MODEL",
                        "settings.compute means nothing"),
                Arguments.of(
                        "engine: {kind: vllm, IMAGE}, settings: {scheduler: {max-num-seqs: 2}}, MODEL",
                        "settings.scheduler means"));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("contradictions")
    void what_does_not_go_together_is_refused_with_a_reason(String entry, String reason) {
        String values = "workers: [{name: a, " + entry.replace("IMAGE", IMAGE).replaceAll("\\bMODEL\\b", MODEL) + "}]";
        assertThatThrownBy(() -> Chart.render(values))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("\"a\"")
                .hasMessageContaining(reason);
    }

    @Test
    void the_example_has_eight_pods_of_a_vllm_with_one_card_and_the_flags_that_a_worker_needs() throws IOException {
        Rendered rendered = Chart.render(Files.readString(Chart.EXAMPLES.resolve("eight-vllm/values.yaml")));
        String name = "demo-warmpath-worker-llama-8b";
        Deployment deployment = rendered.one(Deployment.class, name);
        PodSpec pod = deployment.getSpec().getTemplate().getSpec();
        Container engine = pod.getInitContainers().getFirst();

        assertThat(deployment.getSpec().getReplicas()).isEqualTo(8);
        assertThat(engine.getCommand()).containsExactly("vllm", "serve");
        assertThat(engine.getArgs())
                .startsWith("$(MODEL_DIRECTORY)")
                .contains("--enable-prefix-caching", "--enable-prompt-tokens-details", "--block-size=16",
                        "--num-gpu-blocks-override=20000",
                        "--kv-events-config={\"enable_kv_cache_events\":true,\"publisher\":\"zmq\","
                                + "\"endpoint\":\"tcp://*:5557\", \"replay_endpoint\":\"tcp://*:5558\"}");
        assertThat(engine.getResources().getLimits()).containsEntry("nvidia.com/gpu", new Quantity("1"));
        assertThat(rendered.container(name).getResources().getLimits()).containsOnlyKeys("memory");
        assertThat(rendered.env(name, "WARMPATH_ENGINE_URL")).isEqualTo("http://127.0.0.1:8000");
        assertThat(rendered.env(name, "WARMPATH_ENGINE_MAXNUMSEQS")).isEqualTo("256");
        assertThat(RestrictedPods.faults(pod)).isEmpty();
    }

    private static PodSpec pod(Rendered rendered) {
        return rendered.one(Deployment.class, WORKER).getSpec().getTemplate().getSpec();
    }

    private static Container engine(Rendered rendered) {
        List<Container> before = pod(rendered).getInitContainers();
        assertThat(before).hasSize(1);
        return before.getFirst();
    }
}
