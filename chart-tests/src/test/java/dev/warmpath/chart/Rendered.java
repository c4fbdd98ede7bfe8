package dev.warmpath.chart;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.introspect.Annotated;
import com.fasterxml.jackson.databind.introspect.JacksonAnnotationIntrospector;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLParser;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.EnvVar;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodTemplateSpec;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.autoscaling.v2.HorizontalPodAutoscaler;
import io.fabric8.kubernetes.api.model.gatewayapi.v1.HTTPRoute;
import io.fabric8.kubernetes.api.model.networking.v1.Ingress;
import io.fabric8.kubernetes.api.model.networking.v1.NetworkPolicy;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudget;
import io.fabric8.openshift.api.model.monitoring.v1.PodMonitor;
import io.fabric8.openshift.api.model.monitoring.v1.PrometheusRule;
import io.fabric8.openshift.api.model.monitoring.v1.ServiceMonitor;
import java.io.IOException;
import java.io.Serial;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * What the chart made of values.
 *
 * @param text    as Helm wrote it
 * @param objects each object as the type of its kind, which has all of its fields
 */
record Rendered(String text, List<HasMetadata> objects) {

    private static final Map<String, Class<? extends HasMetadata>> KINDS = Map.ofEntries(
            Map.entry("v1 ConfigMap", ConfigMap.class),
            Map.entry("v1 Pod", Pod.class),
            Map.entry("v1 Secret", Secret.class),
            Map.entry("v1 Service", Service.class),
            Map.entry("apps/v1 Deployment", Deployment.class),
            Map.entry("autoscaling/v2 HorizontalPodAutoscaler", HorizontalPodAutoscaler.class),
            Map.entry("gateway.networking.k8s.io/v1 HTTPRoute", HTTPRoute.class),
            Map.entry("keda.sh/v1alpha1 ScaledObject", ScaledObject.class),
            Map.entry("monitoring.coreos.com/v1 PodMonitor", PodMonitor.class),
            Map.entry("monitoring.coreos.com/v1 PrometheusRule", PrometheusRule.class),
            Map.entry("monitoring.coreos.com/v1 ServiceMonitor", ServiceMonitor.class),
            Map.entry("networking.k8s.io/v1 Ingress", Ingress.class),
            Map.entry("networking.k8s.io/v1 NetworkPolicy", NetworkPolicy.class),
            Map.entry("policy/v1 PodDisruptionBudget", PodDisruptionBudget.class));

    private static final ObjectMapper YAML = new ObjectMapper(new YAMLFactory())
            .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .enable(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)
            .setAnnotationIntrospector(new UnknownFieldsFail());

    /** @throws IllegalArgumentException for an object of no kind above, or with a field that its kind has not */
    static Rendered of(String text) {
        List<HasMetadata> objects = new ArrayList<>();
        try (YAMLParser parser = new YAMLFactory().createParser(text)) {
            for (JsonNode tree : YAML.readValues(parser, JsonNode.class).readAll()) {
                if (!tree.isEmpty()) {
                    objects.add(read(tree));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new Rendered(text, List.copyOf(objects));
    }

    private static HasMetadata read(JsonNode tree) {
        String kind = tree.path("apiVersion").asText() + " " + tree.path("kind").asText();
        Class<? extends HasMetadata> type = KINDS.get(kind);
        if (type == null) {
            throw new IllegalArgumentException("nobody expects a " + kind + " of the chart: " + tree);
        }
        try {
            return YAML.treeToValue(tree, type);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(
                    kind + " " + tree.at("/metadata/name").asText() + ": " + e.getMessage(), e);
        }
    }

    <T extends HasMetadata> List<T> all(Class<T> type) {
        return objects.stream().filter(type::isInstance).map(type::cast).toList();
    }

    <T extends HasMetadata> T one(Class<T> type, String name) {
        return all(type).stream()
                .filter(object -> object.getMetadata().getName().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no " + type.getSimpleName() + " " + name));
    }

    List<String> names(Class<? extends HasMetadata> type) {
        return all(type).stream()
                .map(object -> object.getMetadata().getName())
                .sorted()
                .toList();
    }

    /** All pods that would run: those of deployments, and the test's. */
    List<PodTemplateSpec> pods() {
        return Stream.concat(
                        all(Deployment.class).stream()
                                .map(deployment -> deployment.getSpec().getTemplate()),
                        all(Pod.class).stream().map(pod -> new PodTemplateSpec(pod.getMetadata(), pod.getSpec())))
                .toList();
    }

    /** The container that serves. */
    Container container(String deployment) {
        return one(Deployment.class, deployment)
                .getSpec()
                .getTemplate()
                .getSpec()
                .getContainers()
                .getFirst();
    }

    /** A variable's text, of the container that serves. */
    String env(String deployment, String variable) {
        return container(deployment).getEnv().stream()
                .filter(env -> env.getName().equals(variable))
                .findFirst()
                .map(EnvVar::getValue)
                .orElseThrow(() -> new IllegalArgumentException(deployment + " has no variable " + variable));
    }

    /** Kubernetes' types keep what they do not know; here it is an error. */
    private static final class UnknownFieldsFail extends JacksonAnnotationIntrospector {

        @Serial
        private static final long serialVersionUID = 1;

        @Override
        public Boolean hasAnySetter(Annotated annotated) {
            return false;
        }
    }
}
