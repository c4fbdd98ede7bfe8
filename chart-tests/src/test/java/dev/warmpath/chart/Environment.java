package dev.warmpath.chart;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.EnvVar;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/** Variables of the services' containers: each is a setting of the service, or one of the few that are no settings. */
final class Environment {

    private static final Map<String, ServiceSettings> SERVICES =
            Map.of("router", ServiceSettings.ROUTER, "worker", ServiceSettings.WORKER);
    private static final String JSON_SETTINGS = "SPRING_APPLICATION_JSON";
    /** Java's launcher reads the first, other variables refer to the second. */
    private static final Set<String> NO_SETTINGS = Set.of("JDK_JAVA_OPTIONS", "POD_IP");

    private Environment() {}

    /** Variables that set nothing; empty if there are none. */
    static List<String> unknown(Rendered rendered) {
        return rendered.pods().stream()
                .flatMap(pod -> pod.getSpec().getContainers().stream())
                .filter(container -> SERVICES.containsKey(container.getName()))
                .flatMap(Environment::unknown)
                .toList();
    }

    private static Stream<String> unknown(Container container) {
        ServiceSettings settings = SERVICES.getOrDefault(container.getName(), ServiceSettings.ROUTER);
        return container.getEnv().stream()
                .filter(variable -> !NO_SETTINGS.contains(variable.getName()))
                .filter(variable -> variable.getName().equals(JSON_SETTINGS)
                        ? !knowsAll(settings, variable)
                        : !settings.knows(variable.getName()))
                .map(variable -> container.getName() + ": " + variable.getName());
    }

    /** {@code {"warmpath": {"fleet": {"pinned-revisions": …}}}}. */
    private static boolean knowsAll(ServiceSettings settings, EnvVar variable) {
        try {
            JsonNode capabilities =
                    new ObjectMapper().readTree(variable.getValue()).path("warmpath");
            return capabilities.size() > 0
                    && capabilities
                            .propertyStream()
                            .allMatch(capability -> capability
                                    .getValue()
                                    .propertyStream()
                                    .allMatch(setting -> settings.properties()
                                            .containsKey("warmpath." + capability.getKey() + "." + setting.getKey())));
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(variable.getName() + " is no JSON", e);
        }
    }
}
