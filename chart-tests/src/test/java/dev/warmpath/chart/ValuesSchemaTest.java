package dev.warmpath.chart;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.core.util.DefaultIndenter;
import com.fasterxml.jackson.core.util.DefaultPrettyPrinter;
import com.fasterxml.jackson.core.util.Separators;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Which values the chart takes: what does not exist is refused where it stands, and not left without effect. */
class ValuesSchemaTest {

    private static final Path SCHEMA = Chart.DIRECTORY.resolve("values.schema.json");
    private static final ObjectMapper JSON = new ObjectMapper();

    /** What the chart sets by values of its own, or out of what it knows. */
    private static final Set<String> ROUTERS_BY_THE_CHART = Set.of(
            "warmpath.api-keys.file",
            "warmpath.fleet.token",
            "warmpath.fleet.previous-token",
            "warmpath.management.token",
            "warmpath.management.previous-token",
            "warmpath.drain.settle",
            "warmpath.drain.timeout",
            "warmpath.shutdown.deadline",
            "warmpath.readiness.require-model");

    private static final Set<String> WORKERS_BY_THE_CHART = Set.of(
            // not set: operators have the fleet's token for workers
            "warmpath.management.token",
            "warmpath.management.previous-token",
            "warmpath.worker.id",
            "warmpath.worker.base-url",
            "warmpath.model.directory",
            "warmpath.model.name",
            "warmpath.model.context-length",
            "warmpath.model.quantization",
            "warmpath.model.digest-cache",
            "warmpath.routerlink.urls",
            "warmpath.routerlink.token",
            "warmpath.routerlink.previous-token",
            "warmpath.compute.backend",
            "warmpath.engine.kind",
            "warmpath.engine.url",
            "warmpath.engine.model",
            "warmpath.engine.api-key",
            "warmpath.drain.timeout",
            "warmpath.shutdown.deadline");
    private static final Set<String> REDIS_BY_THE_CHART = Set.of(
            "warmpath.redis.uri",
            "warmpath.redis.cluster",
            "warmpath.redis.username",
            "warmpath.redis.password",
            "warmpath.redis.ca-certificate");

    /** Objects of Kubernetes that the API server checks. */
    private static final Set<String> KUBERNETES_OWN = Set.of(
            "/properties/global",
            "/properties/extraObjects/items",
            "/properties/httpRoute/properties/parentRefs/items",
            "/properties/networkPolicy/properties/extraEgress/items/properties/ports/items",
            "/$defs/env/items/properties/valueFrom",
            "/$defs/engine/properties/securityContext",
            "/$defs/affinity/properties/nodeAffinity",
            "/$defs/affinity/properties/podAffinity",
            "/$defs/affinity/properties/podAntiAffinity",
            "/$defs/peers/items/properties/podSelector",
            "/$defs/peers/items/properties/namespaceSelector");

    @Test
    void every_setting_of_the_services_can_be_given_and_nothing_else() throws IOException {
        ObjectNode schema = (ObjectNode) JSON.readTree(SCHEMA.toFile());
        ObjectNode expected = schema.deepCopy();
        ((ObjectNode) expected.get("$defs"))
                .<ObjectNode>set(
                        "routerSettings",
                        withoutRedis(ServiceSettings.ROUTER.schema("warmpath.", ROUTERS_BY_THE_CHART)))
                .<ObjectNode>set(
                        "workerSettings",
                        withoutRedis(ServiceSettings.WORKER.schema("warmpath.", WORKERS_BY_THE_CHART)))
                .set("redisSettings", ServiceSettings.WORKER.schema("warmpath.redis.", REDIS_BY_THE_CHART));
        if (Renewal.IS_WANTED) {
            Files.writeString(SCHEMA, JSON.writer(layout()).writeValueAsString(expected) + "\n");
            return;
        }

        // read again: numbers of a text and of code are of different types
        assertThat(schema).as("values.schema.json; " + Renewal.HOW).isEqualTo(JSON.readTree(expected.toString()));
    }

    /** Routers and workers must agree on it, so it is said once. */
    private static ObjectNode withoutRedis(ObjectNode settings) {
        ((ObjectNode) settings.get("properties")).remove("redis");
        return settings;
    }

    @Test
    void every_object_is_closed_but_those_that_are_kubernetes_own() throws IOException {
        List<String> open = new ArrayList<>();
        findOpen(JSON.readTree(SCHEMA.toFile()), "", open);

        assertThat(open).containsExactlyInAnyOrderElementsOf(KUBERNETES_OWN);
    }

    private static void findOpen(JsonNode schema, String path, List<String> open) {
        if (schema.path("type").asText().equals("object") && !schema.has("additionalProperties")) {
            open.add(path);
        }
        schema.properties().forEach(entry -> findOpen(entry.getValue(), path + "/" + entry.getKey(), open));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("wrongValues")
    void wrong_values_are_refused_where_they_stand(String values, String where) {
        assertThatThrownBy(() -> Chart.render(values))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining(where);
    }

    static Stream<Arguments> wrongValues() {
        return Stream.of(
                Arguments.of("replicas: 2", "'replicas' not allowed"),
                Arguments.of("router: {replica: 2}", "at '/router'"),
                Arguments.of("router: {replicas: two}", "at '/router/replicas'"),
                Arguments.of("router: {replicas: -1}", "at '/router/replicas'"),
                Arguments.of("router: {image: {tag: latest}}", "at '/router/image/tag'"),
                Arguments.of("image: {tag: latest}", "at '/image/tag'"),
                Arguments.of("image: {pullPolicy: Allways}", "at '/image/pullPolicy'"),
                Arguments.of("router: {image: {digest: abc}}", "at '/router/image/digest'"),
                Arguments.of("router: {drain: {settle: 5s}}", "at '/router/drain'"),
                Arguments.of("router: {settings: {admission: {max-wiat: 1s}}}", "at '/router/settings/admission'"),
                Arguments.of("router: {settings: {admission: {maxWait: 1s}}}", "at '/router/settings/admission'"),
                Arguments.of(
                        "router: {settings: {admission: {max-wait: soon}}}",
                        "at '/router/settings/admission/max-wait'"),
                Arguments.of("router: {settings: {fleet: {token: abc}}}", "at '/router/settings/fleet'"),
                Arguments.of("router: {settings: {drain: {timeout: 5s}}}", "at '/router/settings'"),
                Arguments.of("router: {settings: {kv: {block-size: 16}}}", "at '/router/settings'"),
                Arguments.of("router: {settings: {redis: {event-streams: 4}}}", "at '/router/settings'"),
                Arguments.of("router: {jvm: {maxRamPercentage: 120}}", "at '/router/jvm/maxRamPercentage'"),
                Arguments.of("router: {jvm: {options: [\"-Xmx1g -Xms1g\"]}}", "at '/router/jvm/options/0'"),
                Arguments.of("router: {resources: {limit: {memory: 1Gi}}}", "at '/router/resources'"),
                Arguments.of("router: {resources: {limits: {memory: 1GB}}}", "at '/router/resources/limits/memory'"),
                Arguments.of("router: {service: {type: Headless}}", "at '/router/service/type'"),
                Arguments.of("router: {tolerations: [{efect: NoSchedule}]}", "at '/router/tolerations/0'"),
                Arguments.of("router: {podAnnotations: {a: 1}}", "at '/router/podAnnotations/a'"),
                Arguments.of("workers: []", "at '/workers'"),
                Arguments.of("workers: [{replicas: 1}]", "at '/workers/0'"),
                Arguments.of("workers: [{name: Big}]", "at '/workers/0/name'"),
                Arguments.of("workers: [{name: a, gpus: 1}]", "at '/workers/0'"),
                Arguments.of("workers: [{name: a, gpu: {enabled: 1}}]", "at '/workers/0/gpu/enabled'"),
                Arguments.of("workers: [{name: a, gpu: {resource: nvidia}}]", "at '/workers/0/gpu/resource'"),
                Arguments.of("workers: [{name: a, engine: {kind: ollama}}]", "at '/workers/0/engine/kind'"),
                Arguments.of("workers: [{name: a, engine: {url: 'tcp://e:5557'}}]", "at '/workers/0/engine/url'"),
                Arguments.of(
                        "workers: [{name: a, engine: {image: {tag: latest}}}]", "at '/workers/0/engine/image/tag'"),
                Arguments.of(
                        "workers: [{name: a, settings: {engine: {kind: vllm}}}]", "at '/workers/0/settings/engine'"),
                Arguments.of("workers: [{name: a, gpu: {count: 0}}]", "at '/workers/0/gpu/count'"),
                Arguments.of("workers: [{name: a, model: {source: s3}}]", "at '/workers/0/model/source'"),
                Arguments.of("workers: [{name: a, model: {source: pvc}}]", "model.claim does not name"),
                Arguments.of("workers: [{name: a, model: {source: download}}]", "model.download.files names no files"),
                Arguments.of(
                        "workers: [{name: a, model: {source: download, download: {files: [{path: a, url:"
                                + " 'https://b'}]}}}]",
                        "at '/workers/0/model/download/files/0'"),
                Arguments.of(
                        "workers: [{name: a, model: {source: download, download: {files: [{path: ../a, url:"
                                + " 'https://b', sha256: '"
                                + "0".repeat(64) + "'}]}}}]",
                        "at '/workers/0/model/download/files/0/path'"),
                Arguments.of(
                        "workers: [{name: a, model: {source: download, download: {files: [{path: a, url: 'http://b',"
                                + " sha256: '"
                                + "0".repeat(64) + "'}]}}}]",
                        "at '/workers/0/model/download/files/0/url'"),
                Arguments.of("workers: [{name: a, settings: {kv: {memory: 4}}}]", "at '/workers/0/settings/kv/memory'"),
                Arguments.of(
                        "workers: [{name: a, settings: {scheduler: {policy: fifo}}}]",
                        "at '/workers/0/settings/scheduler/policy'"),
                Arguments.of(
                        "workers: [{name: a, settings: {scheduler: {max-num-seqs: 0}}}]",
                        "at '/workers/0/settings/scheduler/max-num-seqs'"),
                Arguments.of(
                        "workers: [{name: a, settings: {compute: {backend: cuda}}}]",
                        "at '/workers/0/settings/compute'"),
                Arguments.of("workers: [{name: a, autoscaling: {mode: on}}]", "at '/workers/0/autoscaling/mode'"),
                Arguments.of("workers: [{name: a, podDisruptionBudget: true}]", "at '/workers/0/podDisruptionBudget'"),
                Arguments.of(
                        "router: {podDisruptionBudget: {maxUnavailable: many}}",
                        "at '/router/podDisruptionBudget/maxUnavailable'"),
                Arguments.of(
                        "workers: [{name: a, autoscaling: {refusedShare: 2}}]",
                        "at '/workers/0/autoscaling/refusedShare'"),
                Arguments.of("workers: [{name: a}, {name: a}]", "two entries named \"a\""),
                Arguments.of("workerDefaults: {name: a}", "at '/workerDefaults'"),
                Arguments.of("redis: {mode: embedded}", "at '/redis/mode'"),
                Arguments.of("redis: {mode: external}", "at '/redis/hosts'"),
                Arguments.of("redis: {mode: external, hosts: [redis]}", "at '/redis/hosts/0'"),
                Arguments.of("redis: {mode: external, hosts: ['a:1', 'b:1']}", "at '/redis/hosts'"),
                Arguments.of("redis: {mode: sentinel, hosts: ['a:26379']}", "at '/redis/sentinelPrimary'"),
                Arguments.of("redis: {mode: builtin, hosts: ['a:6379']}", "at '/redis/hosts'"),
                Arguments.of("redis: {mode: builtin, tls: true}", "at '/redis/tls'"),
                Arguments.of("redis: {settings: {stream-lenght: 5}}", "at '/redis/settings'"),
                Arguments.of("redis: {settings: {event-streams: many}}", "at '/redis/settings/event-streams'"),
                Arguments.of("networkPolicy: {clients: [{podselector: {}}]}", "at '/networkPolicy/clients/0'"),
                Arguments.of("networkPolicy: {dns: {ports: []}}", "at '/networkPolicy/dns/ports'"),
                Arguments.of("networkPolicy: {clients: [{}]}", "at '/networkPolicy/clients/0'"),
                Arguments.of("monitoring: {serviceMonitors: true}", "at '/monitoring'"),
                Arguments.of("ingress: {enabled: true}", "at '/ingress/host'"),
                Arguments.of("httpRoute: {enabled: true}", "at '/httpRoute/parentRefs'"),
                Arguments.of("tokens: {fleetToken: abc}", "at '/tokens'"),
                Arguments.of("tests: {image: busybox}", "at '/tests/image'"));
    }

    private static DefaultPrettyPrinter layout() {
        var indenter = new DefaultIndenter("  ", "\n");
        var layout = new DefaultPrettyPrinter(new Separators().withObjectFieldValueSpacing(Separators.Spacing.AFTER));
        layout.indentObjectsWith(indenter);
        return layout;
    }
}
