package dev.warmpath.chart;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.warmpath.redislink.RedisProperties;
import dev.warmpath.router.RouterApplication;
import dev.warmpath.worker.WorkerApplication;
import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.Positive;
import jakarta.validation.constraints.PositiveOrZero;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.AnnotatedParameterizedType;
import java.lang.reflect.AnnotatedType;
import java.lang.reflect.Parameter;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.Name;
import org.springframework.context.annotation.ClassPathScanningCandidateComponentProvider;
import org.springframework.core.type.filter.AnnotationTypeFilter;
import org.springframework.util.ClassUtils;
import org.springframework.util.unit.DataSize;

/**
 * What a service can be told: its own settings, as its records have them, and Spring's.
 *
 * @param properties   each by its full name, with the schema of its values
 * @param placeholders names that its own defaults refer to, {@code ${warmpath.fleet.token}}
 */
record ServiceSettings(Map<String, ObjectNode> properties, Set<String> placeholders) {

    /** What both services have in common. */
    private static final String PROCESS = "dev.warmpath.process";

    private static final Pattern PLACEHOLDER = Pattern.compile("\\$\\{(warmpath[\\w.-]+)");

    private static final String DURATION = "^[0-9]+(ns|us|ms|s|m|h|d)$";
    private static final String SIZE = "^[0-9]+(B|KB|MB|GB|TB)$";

    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

    static final ServiceSettings ROUTER = of(RouterApplication.class, Path.of("../router-service"));
    static final ServiceSettings WORKER = of(WorkerApplication.class, Path.of("../worker-agent"));
    private static final Set<String> SPRINGS = springsVariables();

    private static ServiceSettings of(Class<?> application, Path module) {
        var scanner = new ClassPathScanningCandidateComponentProvider(false);
        scanner.addIncludeFilter(new AnnotationTypeFilter(ConfigurationProperties.class));
        Map<String, ObjectNode> properties = new TreeMap<>();
        for (String base : List.of(application.getPackageName(), RedisProperties.class.getPackageName(), PROCESS)) {
            scanner.findCandidateComponents(base).forEach(found -> {
                Class<?> type = ClassUtils.resolveClassName(String.valueOf(found.getBeanClassName()), null);
                putAll(type.getAnnotation(ConfigurationProperties.class).value(), type, properties);
            });
        }
        try {
            String defaults = Files.readString(module.resolve("src/main/resources/application.yaml"));
            return new ServiceSettings(
                    Collections.unmodifiableMap(properties),
                    PLACEHOLDER
                            .matcher(defaults)
                            .results()
                            .map(found -> found.group(1))
                            .collect(Collectors.toUnmodifiableSet()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Whether a variable of the environment sets one of them. */
    boolean knows(String variable) {
        return SPRINGS.contains(variable)
                || SPRINGS.stream().anyMatch(name -> name.endsWith("_") && variable.startsWith(name))
                || Stream.concat(properties.keySet().stream(), placeholders.stream())
                        .anyMatch(name -> variable(name).equals(variable));
    }

    /**
     * The schema of a tree of settings below a prefix.
     *
     * @param owned what the chart sets by other values: no part of the schema
     */
    ObjectNode schema(String prefix, Set<String> owned) {
        ObjectNode schema = object();
        properties.forEach((name, value) -> {
            if (name.startsWith(prefix) && !owned.contains(name)) {
                ObjectNode parent = schema;
                List<String> path =
                        Arrays.asList(name.substring(prefix.length()).split("\\."));
                for (String part : path.subList(0, path.size() - 1)) {
                    ObjectNode children = (ObjectNode) parent.get("properties");
                    if (!children.has(part)) {
                        children.set(part, object());
                    }
                    parent = (ObjectNode) children.get(part);
                }
                ((ObjectNode) parent.get("properties")).set(path.getLast(), value);
            }
        });
        return schema;
    }

    /** {@code warmpath.kv.block-size} in the environment. */
    static String variable(String property) {
        return property.replace("-", "").replace('.', '_').toUpperCase(Locale.ROOT);
    }

    private static void putAll(String prefix, Class<?> type, Map<String, ObjectNode> properties) {
        for (Parameter setting : type.getDeclaredConstructors()[0].getParameters()) {
            Name named = setting.getAnnotation(Name.class);
            String name = prefix + "."
                    + (named != null
                            ? named.value()
                            : setting.getName().replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT));
            if (setting.getType().isRecord()) {
                putAll(name, setting.getType(), properties);
            } else {
                properties.put(name, schemaOf(setting.getParameterizedType(), setting, setting.getAnnotatedType()));
            }
        }
    }

    private static ObjectNode schemaOf(Type type, AnnotatedElement bounds, AnnotatedType annotated) {
        if (type instanceof ParameterizedType generic && annotated instanceof AnnotatedParameterizedType arguments) {
            AnnotatedType last =
                    arguments.getAnnotatedActualTypeArguments()[generic.getActualTypeArguments().length - 1];
            ObjectNode element = schemaOf(last.getType(), last, last);
            return generic.getRawType() == Map.class
                    ? JSON.objectNode().put("type", "object").set("additionalProperties", element)
                    : JSON.objectNode().put("type", "array").set("items", element);
        }
        Class<?> raw = (Class<?>) type;
        if (raw == boolean.class || raw == Boolean.class) {
            return JSON.objectNode().put("type", "boolean");
        }
        if (raw == int.class || raw == Integer.class || raw == long.class || raw == Long.class) {
            return bounded(JSON.objectNode().put("type", "integer"), bounds);
        }
        if (raw == double.class || raw == Double.class) {
            return bounded(JSON.objectNode().put("type", "number"), bounds);
        }
        ObjectNode text = JSON.objectNode();
        if (raw.isEnum()) {
            Arrays.stream(raw.getEnumConstants())
                    .map(constant ->
                            constant.toString().toLowerCase(Locale.ROOT).replace('_', '-'))
                    .forEach(text.putArray("enum")::add);
            return text;
        }
        text.put("type", "string");
        return raw == Duration.class
                ? text.put("pattern", DURATION)
                : raw == DataSize.class ? text.put("pattern", SIZE) : text;
    }

    private static ObjectNode bounded(ObjectNode number, AnnotatedElement bounds) {
        Min min = find(bounds, Min.class);
        Max max = find(bounds, Max.class);
        DecimalMin decimalMin = find(bounds, DecimalMin.class);
        DecimalMax decimalMax = find(bounds, DecimalMax.class);
        if (min != null) {
            number.put("minimum", min.value());
        }
        if (decimalMin != null) {
            number.put("minimum", new BigDecimal(decimalMin.value()));
        }
        if (bounds.isAnnotationPresent(PositiveOrZero.class)) {
            number.put("minimum", 0);
        }
        if (bounds.isAnnotationPresent(Positive.class)) {
            number.put("exclusiveMinimum", 0);
        }
        if (max != null) {
            number.put("maximum", max.value());
        }
        if (decimalMax != null) {
            number.put("maximum", new BigDecimal(decimalMax.value()));
        }
        return number;
    }

    private static <A extends Annotation> @Nullable A find(AnnotatedElement bounds, Class<A> type) {
        return bounds.getAnnotation(type);
    }

    private static ObjectNode object() {
        ObjectNode object = JSON.objectNode().put("type", "object").put("additionalProperties", false);
        object.putObject("properties");
        return object;
    }

    /** From the metadata that Spring's jars carry for editors; a map's ends with the line before its keys. */
    private static Set<String> springsVariables() {
        Set<String> variables = new TreeSet<>();
        var mapper = new ObjectMapper();
        try {
            List<URL> metadata = new ArrayList<>(Collections.list(ServiceSettings.class
                    .getClassLoader()
                    .getResources("META-INF/spring-configuration-metadata.json")));
            for (URL url : metadata) {
                try (InputStream stream = url.openStream()) {
                    for (JsonNode property : mapper.readTree(stream).path("properties")) {
                        String name = property.path("name").asText();
                        if (!name.startsWith("warmpath.")) {
                            boolean isMap = property.path("type").asText().startsWith("java.util.Map");
                            variables.add(variable(name) + (isMap ? "_" : ""));
                        }
                    }
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return variables;
    }
}
