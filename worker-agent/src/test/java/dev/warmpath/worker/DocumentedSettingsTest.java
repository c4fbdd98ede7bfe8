package dev.warmpath.worker;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.core.io.ClassPathResource;
import tools.jackson.databind.json.JsonMapper;

/** A default that no annotation has, since it holds only while no number of blocks is given: the metadata, the code. */
class DocumentedSettingsTest {

    @Test
    void the_metadata_tell_the_share_of_memory_that_a_cache_takes_if_nobody_says() throws Exception {
        Map<String, String> documented = new TreeMap<>();
        try (var in = new ClassPathResource("META-INF/additional-spring-configuration-metadata.json").getInputStream()) {
            JsonMapper.shared().readTree(in).get("properties").forEach(property ->
                    documented.put(property.get("name").asString(), property.path("defaultValue").asString("")));
        }
        KvProperties kv = new Binder().bindOrCreate("warmpath.kv", KvProperties.class);

        assertThat(documented)
                .containsEntry("warmpath.kv.memory-utilization", Double.toString(kv.memoryUtilizationOrDefault()));
    }
}
