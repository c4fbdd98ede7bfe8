package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.redislink.RedisProperties;
import dev.warmpath.worker.routerlink.RouterLinkProperties;
import java.io.IOException;
import java.lang.reflect.Parameter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.DefaultValue;

/** The operator's page against the records. */
class DocumentedSettingsTest {

    private static final String ROW = "| worker `";

    @Test
    void the_page_names_every_setting_of_the_worker_with_its_default() throws IOException {
        Map<String, String> documented = new TreeMap<>();
        Files.readAllLines(Path.of("../docs/operations.md")).stream().filter(line -> line.startsWith(ROW))
                .forEach(row -> read(row, documented));

        assertThat(documented).isEqualTo(settings(WorkerProperties.class, ModelProperties.class,
                RouterLinkProperties.class, RedisProperties.class, KvProperties.class, SchedulerProperties.class,
                ComputeProperties.class, DrainProperties.class));
    }

    /** {@code | worker `warmpath.kv.memory`, `.memory-utilization` | 128MB, 0.9 | …}. */
    private static void read(String row, Map<String, String> documented) {
        String[] cells = row.split(" \\| ");
        String[] names = cells[0].substring(ROW.length() - 1).replace("`", "").split(", ");
        String[] defaults = cells[1].split(", ");
        String capability = names[0].substring(0, names[0].lastIndexOf('.'));
        for (int i = 0; i < names.length; i++) {
            documented.put(i == 0 ? names[0] : capability + names[i], defaults[i]);
        }
    }

    private static Map<String, String> settings(Class<?>... records) {
        Map<String, String> settings = new TreeMap<>();
        for (Class<?> type : records) {
            String capability = type.getAnnotation(ConfigurationProperties.class).value();
            putAll(capability, type, settings);
        }
        // these two are only defaults as long as no number of blocks is given
        var kv = new Binder().bindOrCreate("warmpath.kv", KvProperties.class);
        settings.put("warmpath.kv.memory", KvProperties.DEFAULT_MEMORY.toMegabytes() + "MB");
        settings.put("warmpath.kv.memory-utilization", Double.toString(kv.memoryUtilizationOrDefault()));
        return settings;
    }

    /** A setting that is a record has settings of its own. */
    private static void putAll(String capability, Class<?> type, Map<String, String> settings) {
        for (Parameter setting : type.getDeclaredConstructors()[0].getParameters()) {
            String name = capability + "." + setting.getName().replaceAll("([A-Z])", "-$1").toLowerCase();
            if (setting.getType().isRecord()) {
                putAll(name, setting.getType(), settings);
            } else {
                settings.put(name, defaultOf(setting));
            }
        }
    }

    private static String defaultOf(Parameter setting) {
        DefaultValue value = setting.getAnnotation(DefaultValue.class);
        return value == null || value.value().length == 0 ? "–" : String.join(",", value.value());
    }
}
