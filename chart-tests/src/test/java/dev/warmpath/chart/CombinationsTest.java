package dev.warmpath.chart;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.EnvVar;
import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.PodTemplateSpec;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Values that somebody may put together: whatever they are, objects have known fields only (or {@link Rendered} does
 * not read them), pods are admitted, names lead somewhere, variables are settings, and pods get the time that they need
 * to end.
 */
class CombinationsTest {

    private static final String SUM = "0".repeat(64);
    private static final String DOWNLOAD =
            "{source: download, download: {files: [{path: config.json, url: 'https://models/c', sha256: '" + SUM
                    + "'}]%s}}";
    /** What the values below name. */
    private static final Set<String> FOREIGN_SECRETS = Set.of("vault", "old", "file-of-keys", "redis-users", "ca", "hub");

    static Stream<String> values() {
        return Stream.of(
                "{}",
                "fullnameOverride: f",
                "nameOverride: other-name",
                "fullnameOverride: " + "a".repeat(60),
                "router: {replicas: 0}",
                "router: {replicas: 3}",
                "router: {apiKeys: {enabled: false}}",
                "router: {apiKeys: {existingSecret: file-of-keys}}",
                "router: {apiKeys: {lines: ['team-a sha256:" + SUM + " requests-per-minute=60']}}",
                "router: {replicas: 3, podDisruptionBudget: {enabled: false}}",
                "router: {service: {type: LoadBalancer, port: 8000, annotations: {a.b/c: d}}}",
                "router: {drain: {preStopSeconds: 0, settleSeconds: 0, timeoutSeconds: 0}}",
                "router: {drain: {preStopSeconds: 30, settleSeconds: 60, timeoutSeconds: 3600}}",
                "router: {settings: {admission: {max-in-flight: 2000000, body-heap-share: 0.25}, decisions: {file:"
                        + " /tmp/decisions}}, tmpSize: 256Mi}",
                "router: {settings: {fleet: {max-workers: 2048, revision-weights: {abc: 0.1}, pinned-revisions:"
                        + " {warmpath-tiny: abc}}}}",
                "router: {extraEnv: [{name: LOGGING_LEVEL_ROOT, value: DEBUG}]}",
                "router: {topologySpread: [], tolerations: [{key: a, operator: Exists}], nodeSelector: {a: b},"
                        + " priorityClassName: high}",
                "router: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution:"
                        + " {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}}}",
                "router: {podLabels: {a: b}, podAnnotations: {c: d}, tmpSize: 1Gi}",
                "router: {jvm: {maxRamPercentage: 75.5, options: ['-XX:+UseZGC', '-Xlog:gc']}}",
                "tracing: {endpoint: 'http://collector:4318/v1/traces', samplingProbability: 0.01}\nnetworkPolicy:"
                        + " {tracing: [{podSelector: {matchLabels: {app: collector}}}]}",
                "image: {registry: '', tag: v1, pullPolicy: Always, pullSecrets: [a, b]}",
                "router: {image: {digest: 'sha256:" + SUM + "'}}\nworkerDefaults: {image: {tag: v2}}",
                "tokens: {existingSecret: vault, fleetKey: f.t, managementKey: m, previousSecret: old}",
                "workers: [{name: a}, {name: b, replicas: 0}, {name: c, replicas: 5}]",
                "workers: [{name: " + "w".repeat(20) + "}]\nfullnameOverride: " + "a".repeat(60),
                "workers: [{name: a, replicas: 9, podDisruptionBudget: {enabled: false}, rollout: {maxSurge: 0,"
                        + " maxUnavailable: 10%}}]",
                "workers: [{name: a, replicas: 9, podDisruptionBudget: {maxUnavailable: 15%}}]",
                "workers: [{name: a, gpu: {enabled: true}}]",
                "workers: [{name: a, gpu: {enabled: true, resource: nvidia.com/mig-1g.10gb, runtimeClassName: nvidia}, "
                        + "tolerations: [{key: spot, operator: Exists}]}]",
                "workers: [{name: a, gpu: {enabled: true, resourceClaimTemplate: one-card}, resources: {requests:"
                        + " {cpu: 1}, limits: {memory: 1Gi}}}]",
                "workers: [{name: a, model: {source: pvc, claim: c, path: /m/x, name: x, contextLength: 131072,"
                        + " quantization: int8}}]",
                "workers: [{name: a, model: " + DOWNLOAD.formatted("") + "}]",
                "workers: [{name: a, model: " + DOWNLOAD.formatted(", claim: c, tokenSecret: hub, tokenKey: t") + "}]",
                "workers: [{name: a, settings: {kv: {memory: 4GB, prefix-caching: false, watermark: 0.05}, scheduler:"
                        + " {max-num-seqs: 64}}}]",
                "workers: [{name: a, settings: {compute: {cuda: {device: '0'}}, routerlink: {heartbeat-interval:"
                        + " 500ms}}}]",
                "workers: [{name: a, autoscaling: {mode: hpa, minReplicas: 2, maxReplicas: 8}}, {name: b, autoscaling:"
                        + " {mode: keda, kvUsage: 1}}]",
                "workers: [{name: a, autoscaling: {mode: keda, queueWaitSeconds: 1, refusedShare: 0.05}}]",
                "workers: [{name: a, model: {source: pvc, claim: c, name: m}, gpu: {enabled: true, count: 4}, engine:"
                        + " {kind: vllm, image: {repository: 'r.example:5000/vllm', digest: 'sha256:" + SUM
                        + "'}, port: 9000}}]",
                "monitoring: {podMonitor: true, vllmNames: true, engines: true}\nworkers: [{name: a, gpu: {enabled:"
                        + " true, resourceClaimTemplate: one}, engine: {kind: sglang, image: {repository: a/b, tag:"
                        + " v1}, command: [serve], args: ['--x={\"a\":{\"b\":1}}']}, model: "
                        + DOWNLOAD.formatted("").replace("{source", "{name: m, source") + "}]",
                "workers: [{name: a, model: {source: pvc, claim: c, name: m}, engine: {kind: vllm, url:"
                        + " 'http://e:8000'}}, {name: b, model: {source: pvc, claim: c, name: m}, engine: {kind:"
                        + " openai, url: 'http://f'}}]",
                "workers: [{name: a, model: {source: pvc, claim: c, name: m}, autoscaling: {mode: keda}, engine: {kind:"
                        + " vllm, image: {repository: a/b, tag: v1}, apiKeySecret: hub, cache: {claim: kept}}}]",
                "redis: {mode: builtin}\nrouter: {replicas: 2}",
                "redis: {mode: builtin, auth: {existingSecret: redis-users, routerUsername: r, workerUsername: w}}",
                "redis: {mode: external, hosts: ['r:6379']}",
                "redis: {mode: external, hosts: ['r:6380'], tls: true, ca: {existingSecret: ca}, auth:"
                        + " {existingSecret: redis-users}}",
                "redis: {mode: sentinel, hosts: ['a:26379', 'b:26379', 'c:26379'], sentinelPrimary: main, settings:"
                        + " {command-timeout: 2s}}",
                "redis: {mode: cluster, hosts: ['a:6379', 'b:6379'], tls: true, settings: {event-streams: 32}}\n"
                        + "networkPolicy: {redisPorts: [6380]}",
                "networkPolicy: {enabled: false}\ningress: {enabled: true, host: a.b, className: c, tlsSecret: t}",
                "networkPolicy: {dns: {ports: [53, 5353]}}",
                "networkPolicy: {monitoring: [], extraEgress: [{ports: [{port: 4317}], to: [{ipBlock: {cidr:"
                        + " 10.0.0.0/8}}]}]}",
                "httpRoute: {enabled: true, parentRefs: [{name: gateway}], hostnames: [a.b]}",
                "monitoring: {serviceMonitor: true, podMonitor: true, vllmNames: true, rules: true, dashboards: true,"
                        + " labels: {release: p}}",
                "extraObjects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ .Release.Name }}-more', labels:"
                        + " {}}}]",
                "tests: {image: 'localhost/toolbox:1'}\nserviceAccountName: warmpath");
    }

    @Test
    void there_are_forty_at_least() {
        assertThat(values()).hasSizeGreaterThanOrEqualTo(40).doesNotHaveDuplicates();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("values")
    void whatever_is_put_together_would_run(String values) {
        Rendered rendered = Chart.render(values);

        assertThat(rendered.pods())
                .hasSizeGreaterThanOrEqualTo(3)
                .allSatisfy(
                        pod -> assertThat(RestrictedPods.faults(pod.getSpec())).isEmpty());
        assertThat(References.faults(rendered, FOREIGN_SECRETS)).isEqualTo(List.of());
        assertThat(Environment.unknown(rendered)).isEmpty();
        assertThat(rendered.pods())
                .filteredOn(CombinationsTest::drains)
                .isNotEmpty()
                .allSatisfy(CombinationsTest::hasTimeToEnd);
    }

    private static boolean drains(PodTemplateSpec pod) {
        return Set.of("router", "worker")
                .contains(pod.getSpec().getContainers().getFirst().getName());
    }

    /** SIGKILL comes after preStop and all of the service's own patience; 20 s are for it to end once that is over. */
    private static void hasTimeToEnd(PodTemplateSpec template) {
        PodSpec pod = template.getSpec();
        Container container = pod.getContainers().getFirst();
        var seconds = container.getEnv().stream()
                .filter(variable -> String.valueOf(variable.getValue()).matches("[0-9]+s"))
                .collect(Collectors.toMap(
                        EnvVar::getName,
                        variable -> Long.parseLong(variable.getValue().replace("s", ""))));
        long preStop = container.getLifecycle() == null
                ? 0
                : container.getLifecycle().getPreStop().getSleep().getSeconds();
        long deadline = seconds.get("WARMPATH_SHUTDOWN_DEADLINE");

        assertThat(deadline)
                .isGreaterThanOrEqualTo(
                        seconds.getOrDefault("WARMPATH_DRAIN_SETTLE", 0L) + seconds.get("WARMPATH_DRAIN_TIMEOUT") + 20);
        assertThat(pod.getTerminationGracePeriodSeconds()).isGreaterThan(preStop + deadline);
    }
}
