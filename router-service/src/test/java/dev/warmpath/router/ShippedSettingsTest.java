package dev.warmpath.router;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Parameter;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.env.YamlPropertySourceLoader;
import org.springframework.context.annotation.ClassPathScanningCandidateComponentProvider;
import org.springframework.core.env.PropertySource;
import org.springframework.core.io.ClassPathResource;
import org.springframework.core.type.filter.AnnotationTypeFilter;

/** The file of defaults that ships with the records, against them. */
class ShippedSettingsTest {

    @Test
    void the_file_of_defaults_sets_what_is_the_default_anyway() throws Exception {
        Map<String, String> settings = settings();
        Map<String, String> shipped = new TreeMap<>();
        for (PropertySource<?> source : new YamlPropertySourceLoader()
                .load("defaults", new ClassPathResource("application.yaml"))) {
            ((Map<?, ?>) source.getSource()).forEach((name, value) -> {
                if (name.toString().startsWith("warmpath.")) {
                    shipped.put(name.toString(), value.toString());
                }
            });
        }

        assertThat(shipped).hasSizeGreaterThan(20);
        assertThat(settings).containsAllEntriesOf(shipped);
    }

    private static Map<String, String> settings() throws ClassNotFoundException {
        var records = new ClassPathScanningCandidateComponentProvider(false);
        records.addIncludeFilter(new AnnotationTypeFilter(ConfigurationProperties.class));
        Map<String, String> settings = new TreeMap<>();
        Set<BeanDefinition> found = new HashSet<>(records.findCandidateComponents("dev.warmpath.router"));
        found.addAll(records.findCandidateComponents("dev.warmpath.process"));
        for (BeanDefinition definition : found) {
            Class<?> type = Class.forName(definition.getBeanClassName());
            String capability = type.getAnnotation(ConfigurationProperties.class).value();
            for (Parameter setting : type.getDeclaredConstructors()[0].getParameters()) {
                String name = setting.getName().replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
                settings.put(capability + "." + name, defaultOf(setting));
            }
        }
        return settings;
    }

    private static String defaultOf(Parameter setting) {
        DefaultValue value = setting.getAnnotation(DefaultValue.class);
        return value == null || value.value().length == 0 ? "–" : String.join(",", value.value());
    }
}
