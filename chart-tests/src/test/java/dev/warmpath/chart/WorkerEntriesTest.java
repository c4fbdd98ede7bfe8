package dev.warmpath.chart;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.IntOrString;
import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.ResourceClaim;
import io.fabric8.kubernetes.api.model.Toleration;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudget;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What an entry of {@code workers} becomes. */
class WorkerEntriesTest {

    private static final String WORKER = "demo-warmpath-worker-a";

    @Test
    void an_entry_overrides_defaults_even_by_no_and_nothing() {
        Rendered rendered = Chart.render("""
            workerDefaults: {replicas: 3, gpu: {enabled: true}, drain: {preStopSeconds: 9},
              podDisruptionBudget: {enabled: true, maxUnavailable: 25%}, topologySpread: [a],
              settings: {kv: {prefix-caching: true, memory: 1GB}}}
            workers:
              - name: a
                replicas: 0
                gpu: {enabled: false}
                drain: {preStopSeconds: 0}
                settings: {kv: {prefix-caching: false}}
                topologySpread: []
              - name: b
                podDisruptionBudget: {enabled: false}
              - name: c
            """);

        assertThat(rendered.one(Deployment.class, WORKER).getSpec().getReplicas())
                .isZero();
        assertThat(rendered.env(WORKER, "WARMPATH_COMPUTE_BACKEND")).isEqualTo("vector");
        assertThat(rendered.env("demo-warmpath-worker-b", "WARMPATH_COMPUTE_BACKEND"))
                .isEqualTo("cuda");
        assertThat(rendered.container(WORKER).getLifecycle()).isNull();
        assertThat(rendered.env(WORKER, "WARMPATH_KV_PREFIXCACHING")).isEqualTo("false");
        assertThat(rendered.env(WORKER, "WARMPATH_KV_MEMORY")).isEqualTo("1GB");
        assertThat(pod(rendered).getTopologySpreadConstraints()).isEmpty();
        assertThat(rendered.names(PodDisruptionBudget.class)).containsExactly("demo-warmpath-worker-c");
        assertThat(mostUnavailable(rendered, "demo-warmpath-worker-c")).isEqualTo(new IntOrString("25%"));
    }

    @Test
    void as_many_may_be_away_at_a_time_as_the_values_say_and_one_if_they_do_not() {
        Rendered rendered = Chart.render("""
            router: {replicas: 3}
            workers:
              - {name: a, replicas: 8, podDisruptionBudget: {maxUnavailable: 8}}
              - {name: b, replicas: 8}
            """);

        assertThat(mostUnavailable(rendered, WORKER)).isEqualTo(new IntOrString(8));
        assertThat(mostUnavailable(rendered, "demo-warmpath-worker-b")).isEqualTo(new IntOrString(1));
        assertThat(mostUnavailable(rendered, "demo-warmpath-router")).isEqualTo(new IntOrString(1));
    }

    private static IntOrString mostUnavailable(Rendered rendered, String name) {
        return rendered.one(PodDisruptionBudget.class, name).getSpec().getMaxUnavailable();
    }

    @Test
    void settings_become_variables_as_they_are_written() {
        Rendered rendered = Chart.render("""
            router:
              settings:
                admission: {max-in-flight: 2000000, body-heap-share: 0.25}
                openai: {decision-headers: false, heartbeat: 10s}
                fleet: {revision-weights: {abc123: 0.1}, pinned-revisions: {tiny-model: abc123}}
            """);

        assertThat(rendered.env("demo-warmpath-router", "WARMPATH_ADMISSION_MAXINFLIGHT"))
                .isEqualTo("2000000");
        assertThat(rendered.env("demo-warmpath-router", "WARMPATH_ADMISSION_BODYHEAPSHARE"))
                .isEqualTo("0.25");
        assertThat(rendered.env("demo-warmpath-router", "WARMPATH_OPENAI_DECISIONHEADERS"))
                .isEqualTo("false");
        assertThat(rendered.env("demo-warmpath-router", "SPRING_APPLICATION_JSON"))
                .isEqualTo("{\"warmpath\":{\"fleet\":"
                        + "{\"pinned-revisions\":{\"tiny-model\":\"abc123\"},\"revision-weights\":{\"abc123\":0.1}}}}");
    }

    @Test
    void a_worker_on_a_gpu_asks_for_one_card_and_has_the_image_that_can_use_it() {
        Rendered rendered = Chart.render("""
            image: {registry: registry.example, tag: v1}
            workers: [{name: a, gpu: {enabled: true, resource: nvidia.com/mig-1g.10gb, runtimeClassName: nvidia},
              tolerations: [{key: spot, operator: Exists}]}]
            """);

        assertThat(rendered.container(WORKER).getImage()).isEqualTo("registry.example/warmpath-worker:v1-cuda");
        assertThat(rendered.container(WORKER).getResources().getLimits())
                .containsEntry("nvidia.com/mig-1g.10gb", new Quantity("1"))
                .containsKey("memory");
        assertThat(pod(rendered).getRuntimeClassName()).isEqualTo("nvidia");
        assertThat(pod(rendered).getTolerations())
                .extracting(Toleration::getKey)
                .containsExactly("spot", "nvidia.com/gpu");
    }

    @Test
    void a_card_can_be_claimed_instead() {
        Rendered rendered = Chart.render("workers: [{name: a, gpu: {enabled: true, resourceClaimTemplate: one-card}}]");

        assertThat(rendered.container(WORKER).getResources().getClaims())
                .extracting(ResourceClaim::getName)
                .containsExactly("gpu");
        assertThat(rendered.container(WORKER).getResources().getLimits()).containsOnlyKeys("memory");
        assertThat(pod(rendered).getResourceClaims().getFirst().getResourceClaimTemplateName())
                .isEqualTo("one-card");
    }

    @Test
    void without_a_gpu_nothing_of_one_is_left() {
        Rendered rendered =
                Chart.render("workers: [{name: a, gpu: {runtimeClassName: nvidia, resourceClaimTemplate: c}}]");

        assertThat(pod(rendered).getRuntimeClassName()).isNull();
        assertThat(pod(rendered).getResourceClaims()).isEmpty();
        assertThat(pod(rendered).getTolerations()).isEmpty();
        assertThat(rendered.container(WORKER).getImage()).isEqualTo("localhost/warmpath-worker:0.1.0-SNAPSHOT");
    }

    @Test
    void a_model_in_a_claim_is_only_read() {
        Rendered rendered = Chart.render(
                "workers: [{name: a, model: {source: pvc, claim: models, path: /llama/8b/, name: llama}}]");

        assertThat(rendered.env(WORKER, "WARMPATH_MODEL_DIRECTORY")).isEqualTo("/models/llama/8b");
        assertThat(rendered.env(WORKER, "WARMPATH_MODEL_NAME")).isEqualTo("llama");
        assertThat(pod(rendered).getVolumes())
                .filteredOn(volume -> volume.getName().equals("models"))
                .singleElement()
                .satisfies(volume -> {
                    assertThat(volume.getPersistentVolumeClaim().getClaimName()).isEqualTo("models");
                    assertThat(volume.getPersistentVolumeClaim().getReadOnly()).isTrue();
                });
    }

    @Test
    void a_model_is_fetched_by_an_init_container_with_a_checksum_for_each_file() {
        Rendered rendered = Chart.render("""
            workers:
              - name: a
                model:
                  source: download
                  name: llama
                  download:
                    tokenSecret: hub
                    files:
                      - {path: config.json, url: https://m/c, sha256: "%s"}
                      - {path: sub/model.safetensors, url: https://m/w, sha256: "%s"}
            """.formatted("a".repeat(64), "b".repeat(64)));

        Container init = pod(rendered).getInitContainers().getFirst();
        assertThat(init.getEnv())
                .filteredOn(variable -> variable.getName().equals("MODEL_FILES"))
                .singleElement()
                .satisfies(files -> assertThat(files.getValue().strip())
                        .isEqualTo("a".repeat(64) + " config.json https://m/c\n" + "b".repeat(64)
                                + " sub/model.safetensors https://m/w"));
        assertThat(rendered.env(WORKER, "WARMPATH_MODEL_DIRECTORY")).isEqualTo("/models/llama");
        assertThat(pod(rendered).getContainers().getFirst().getVolumeMounts())
                .filteredOn(mount -> mount.getName().equals("models"))
                .singleElement()
                .satisfies(mount -> assertThat(mount.getReadOnly()).isTrue());
    }

    @Test
    void java_gets_its_heap_from_the_memory_limit() {
        Rendered rendered = Chart.render("workers: [{name: a, jvm: {maxRamPercentage: 50, options: ['-XX:+UseZGC']}}]");

        assertThat(rendered.env(WORKER, "JDK_JAVA_OPTIONS"))
                .isEqualTo("-XX:MaxRAMPercentage=50 -XX:MaxDirectMemorySize=128m -XX:+UseZGC");
        assertThat(rendered.container(WORKER).getResources().getLimits())
                .isEqualTo(Map.of("memory", new Quantity("1536Mi")));
    }

    private static PodSpec pod(Rendered rendered) {
        return rendered.one(Deployment.class, WORKER).getSpec().getTemplate().getSpec();
    }
}
