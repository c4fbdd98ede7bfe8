package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import jakarta.validation.constraints.DecimalMax;
import jakarta.validation.constraints.DecimalMin;
import jakarta.validation.constraints.Max;
import jakarta.validation.constraints.Min;
import jakarta.validation.constraints.NotBlank;
import jakarta.validation.constraints.NotNull;
import jakarta.validation.constraints.Positive;
import jakarta.validation.constraints.PositiveOrZero;
import java.io.InputStream;
import java.lang.annotation.Annotation;
import java.lang.reflect.Parameter;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The page of settings, and the list by which a start finds unknown ones, against the metadata in the jars. */
class SettingsPageTest {

    private static final String TABLE_OF = "java.util.Map<java.lang.String,";
    private static final String RENEW = "mvn -pl acceptance -am test -Dtest=SettingsPageTest"
            + " -Dsurefire.failIfNoSpecifiedTests=false -Drenew=settings";
    private static final Path PAGE = Path.of("../docs/settings.md");
    private static final Path NAMES =
            Path.of("../service-process/src/main/resources/dev/warmpath/process/settings.txt");
    private static final String METADATA = "META-INF/spring-configuration-metadata.json";

    private static final String HEAD = """
            # Settings

            <!-- Generated from the comments of the settings' records. Renew it, and the list in service-process, by
                 %s -->

            Any setting can be given as an argument (`--warmpath.kv.memory=512MB`), by environment, hyphens left out
            (`WARMPATH_KV_MEMORY=512MB`, `WARMPATH_KV_BLOCKCOUNT=4096`), or in a file, as everywhere in Spring Boot. A
            name that is none stops the start, with the nearest one in the message. A duration has a unit: `500ms`, `2s`,
            `5m`; so has a size: `512MB`, `4GB` (1 MB is 1,048,576 bytes). "–": not set unless you set it.

            """.formatted(RENEW);

    private static final String TABLE_HEAD = "| setting | of | takes | default | |\n|---|---|---|---|---|\n";
    private static final Set<String> BOTH = new TreeSet<>(Set.of("router", "worker"));

    /**
     * A setting.
     *
     * @param of      who has it: router, worker
     * @param takes   type, unit and range
     */
    private record Row(String name, Set<String> of, String takes, String byDefault, String meaning, String mark) {

        String line() {
            return "| `%s` | %s | %s | %s | %s |".formatted(name, String.join(", ", of), takes, byDefault, meaning);
        }

        String nameLine() {
            return (of.size() == 2 ? "both" : of.iterator().next()) + " " + name + mark;
        }
    }

    @Test
    void page_and_list_say_what_the_metadata_of_both_services_say() throws Exception {
        List<Row> rows = rows();
        String page = page(rows);
        String names = rows.stream().map(row -> row.nameLine() + "\n").collect(Collectors.joining());
        if ("settings".equals(System.getProperty("renew"))) {
            Files.writeString(PAGE, page);
            Files.writeString(NAMES, names);
        }

        assertThat(rows).hasSizeGreaterThan(80);
        assertThat(rows).allSatisfy(row -> assertThat(row.meaning()).as(row.name()).isNotBlank().doesNotContain("{@"));
        assertThat(Files.readString(PAGE)).as("renew it by: " + RENEW).isEqualTo(page);
        assertThat(Files.readString(NAMES)).as("renew it by: " + RENEW).isEqualTo(names);
    }

    private static String page(List<Row> rows) {
        Map<String, List<Row>> byCapability = rows.stream().collect(Collectors.groupingBy(
                row -> row.name().split("\\.")[1], TreeMap::new, Collectors.toList()));
        var page = new StringBuilder(HEAD);
        byCapability.forEach((capability, settings) -> {
            page.append("## ").append(capability).append("\n\n").append(TABLE_HEAD);
            settings.forEach(row -> page.append(row.line()).append('\n'));
            page.append('\n');
        });
        return page.toString().stripTrailing() + "\n";
    }

    private static List<Row> rows() throws Exception {
        Map<String, Row> rows = new TreeMap<>();
        for (URL file : Collections.list(SettingsPageTest.class.getClassLoader().getResources(METADATA))) {
            Set<String> of = services(file.toString());
            if (of.isEmpty()) {
                continue;
            }
            JsonNode metadata;
            try (InputStream in = file.openStream()) {
                metadata = JsonMapper.shared().readTree(in);
            }
            Set<String> groups = metadata.get("groups").valueStream().map(group -> group.get("name").asString())
                    .collect(Collectors.toSet());
            for (JsonNode property : metadata.get("properties")) {
                String name = property.get("name").asString();
                if (name.startsWith("warmpath.") && !groups.contains(name)) {
                    rows.merge(name, row(property, of), SettingsPageTest::merged);
                }
            }
        }
        return List.copyOf(rows.values());
    }

    /** Modules that both services have in them are of both. */
    private static Set<String> services(String file) {
        return file.contains("/test-classes/") || file.contains("-tests.jar") ? Set.of()       // records of tests
                : file.contains("/router-service") ? Set.of("router")
                : file.contains("/worker-agent") ? Set.of("worker")
                : file.contains("/redis-link") || file.contains("/service-process") ? BOTH : Set.of();
    }

    /** One name, in both services: what differs is told for each. */
    private static Row merged(Row one, Row other) {
        Row router = one.of().contains("router") ? one : other;
        Row worker = router == one ? other : one;
        return new Row(one.name(), BOTH, same(router.takes(), worker.takes()),
                same(router.byDefault(), worker.byDefault()), same(router.meaning(), worker.meaning()), one.mark());
    }

    private static String same(String router, String worker) {
        return router.equals(worker) ? router : "router: " + router + ". Worker: " + worker;
    }

    private static Row row(JsonNode property, Set<String> of) throws ClassNotFoundException {
        String name = property.get("name").asString();
        String type = property.get("type").asString();
        JsonNode byDefault = property.get("defaultValue");
        Parameter parameter = parameter(property);
        boolean required = parameter != null && byDefault == null && !type.startsWith("java.util.")
                && (has(parameter, NotNull.class) || has(parameter, NotBlank.class));
        String meaning = property.has("description") ? property.get("description").asString() : "";
        String text = byDefault == null || byDefault.isArray() ? "" : byDefault.asString();
        return new Row(name, of, takes(type, parameter),
                required ? "required" : text.isEmpty() ? "–" : "`" + text + "`",
                meaning.replaceAll("\\{@code ([^}]*)}", "`$1`").replace("|", "\\|"),
                type.startsWith("java.util.Map") ? ".*" : type.startsWith("java.util.List") ? "[*]" : "");
    }

    /** @return of the record's constructor; null for a name without a record of its own */
    private static @Nullable Parameter parameter(JsonNode property) throws ClassNotFoundException {
        if (!property.has("sourceType")) {
            return null;
        }
        String name = property.get("name").asString();
        String last = name.substring(name.lastIndexOf('.') + 1).replace("-", "");
        Class<?> record = Class.forName(property.get("sourceType").asString());
        return Arrays.stream(record.getDeclaredConstructors()[0].getParameters())
                .filter(parameter -> parameter.getName().equalsIgnoreCase(last)).findFirst().orElseThrow();
    }

    private static String takes(String type, @Nullable Parameter parameter) throws ClassNotFoundException {
        String range = parameter == null ? "" : range(parameter);
        return (switch (type) {
            case "java.lang.Integer" -> "integer";
            case "java.lang.Double" -> "number";
            case "java.lang.Boolean" -> "true or false";
            case "java.lang.String" -> "text";
            case "java.time.Duration" -> "duration";
            case "org.springframework.util.unit.DataSize" -> "size";
            case "java.nio.file.Path" -> "path";
            case "java.net.URI" -> "URL";
            case "java.util.List<java.net.URI>" -> "URLs, parted by commas";
            case "java.util.List<java.lang.String>" -> "texts, parted by commas";
            case "java.util.Map<java.lang.String,java.lang.Double>" -> "table of numbers";
            case "java.util.Map<java.lang.String,java.lang.String>" -> "table of texts";
            default -> type.startsWith(TABLE_OF)
                    ? "table of " + choices(type.substring(TABLE_OF.length(), type.length() - 1)) : choices(type);
        }) + (range.isEmpty() ? "" : ", " + range);
    }

    private static String choices(String type) throws ClassNotFoundException {
        return Arrays.stream(Class.forName(type).getEnumConstants())
                .map(value -> "`" + ((Enum<?>) value).name().toLowerCase(Locale.ROOT).replace('_', '-') + "`")
                .collect(Collectors.joining(", "));
    }

    private static String range(Parameter parameter) {
        String least = "";
        String most = "";
        String rest = "";
        for (Annotation each : parameter.getAnnotations()) {
            switch (each) {
                case Min min -> least = String.format(Locale.ROOT, "%,d", min.value());
                case Max max -> most = String.format(Locale.ROOT, "%,d", max.value());
                case DecimalMin min -> least = min.value();
                case DecimalMax max -> most = max.value();
                case Positive _ when parameter.getType() == double.class -> rest = "above 0";
                case Positive _ -> least = "1";
                case PositiveOrZero _ -> least = "0";
                case DurationMin min -> least = text(Duration.ofHours(min.hours()).plusMinutes(min.minutes())
                        .plusSeconds(min.seconds()).plusMillis(min.millis()));
                case DurationMax max -> most = text(Duration.ofHours(max.hours()).plusMinutes(max.minutes())
                        .plusSeconds(max.seconds()).plusMillis(max.millis()));
                default -> { }
            }
        }
        return !rest.isEmpty() ? rest : least.isEmpty() && most.isEmpty() ? ""
                : most.isEmpty() ? "at least " + least : least.isEmpty() ? "at most " + most : least + " to " + most;
    }

    private static String text(Duration duration) {
        return duration.toMillis() % 1000 != 0 ? duration.toMillis() + "ms"
                : duration.toSeconds() % 3600 != 0 || duration.isZero() ? duration.toSeconds() + "s"
                : duration.toHours() + "h";
    }

    private static boolean has(Parameter parameter, Class<? extends Annotation> annotation) {
        return parameter.isAnnotationPresent(annotation);
    }
}
