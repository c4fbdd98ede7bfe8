package dev.warmpath.protocol.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.util.EnumSet;
import java.util.List;
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

        assertThat(json.writeValueAsString(plain)).doesNotContain("packedPrompts", "abilities", "assumed");
        assertThat(json.readValue(json.writeValueAsString(plain), Registration.class).abilities()).isEmpty();
        Registration able = plain.withPackedPrompts().withAbilities(EnumSet.allOf(Ability.class)).withEventStreams(4)
                .withAssumed(true);
        assertThat(json.writeValueAsString(able)).contains("\"packedPrompts\":true", "\"assumed\":true",
                "\"abilities\":[\"choices\",\"logit_rules\",\"logprobs\"]");
        assertThat(json.readValue(json.writeValueAsString(able), Registration.class)).isEqualTo(able);
        assertThat(Ability.known(List.of("logprobs", "to_fly"))).containsExactly(Ability.LOGPROBS);
    }

    @Test
    void a_part_that_a_sender_does_not_know_is_absent_and_one_that_a_model_lacks_is_not_told() {
        var template = new RevisionParts("aa", "bb", "cc", "dd", "ee", "sha256_cbor", "0", 16, 2_048, "ff");

        assertThat(json.writeValueAsString(PARTS)).doesNotContain("chatTemplate");
        assertThat(json.readValue(json.writeValueAsString(PARTS), RevisionParts.class)).isEqualTo(PARTS);
        assertThat(json.readValue(json.writeValueAsString(PARTS).replace("}", ",\"chatTemplate\":null}"),
                RevisionParts.class)).isEqualTo(PARTS);
        assertThat(json.writeValueAsString(template)).contains("\"chatTemplate\":\"ff\"");
        assertThat(json.readValue(json.writeValueAsString(template), RevisionParts.class)).isEqualTo(template);
    }
}
