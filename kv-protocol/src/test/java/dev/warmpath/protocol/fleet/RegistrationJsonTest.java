package dev.warmpath.protocol.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

class RegistrationJsonTest {

    private static final RevisionParts PARTS =
            new RevisionParts("aa", "bb", "cc", "dd", "ee", "sha256_cbor", "0", 16, 2_048);

    private final JsonMapper json = JsonMapper.builder().build();

    @Test
    void what_a_worker_can_do_is_told_only_where_it_can_and_absent_means_that_it_cannot() {
        var plain = new Registration(Protocol.VERSION, "w", 7, URI.create("http://127.0.0.1:9"),
                new ModelDescription("tiny", PARTS.revision(), PARTS, 1_000, 512), 100, 8, true);

        assertThat(json.writeValueAsString(plain)).doesNotContain("packedPrompts", "logitRules");
        assertThat(json.readValue(json.writeValueAsString(plain), Registration.class).logitRules()).isFalse();
        Registration able = plain.withPackedPrompts().withLogitRules().withEventStreams(4);
        assertThat(json.writeValueAsString(able)).contains("\"packedPrompts\":true", "\"logitRules\":true");
        assertThat(json.readValue(json.writeValueAsString(able), Registration.class)).isEqualTo(able);
    }
}
