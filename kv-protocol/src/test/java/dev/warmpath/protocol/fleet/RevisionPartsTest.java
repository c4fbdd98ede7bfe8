package dev.warmpath.protocol.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class RevisionPartsTest {

    private static final RevisionParts PARTS = new RevisionParts("w", "c", "t", "tc", "g", "sha256_cbor", "0", 16, 64);

    @Test
    void equal_parts_have_one_revision_of_sixteen_hex_digits() {
        var same = new RevisionParts("w", "c", "t", "tc", "g", "sha256_cbor", "0", 16, 64);

        assertThat(PARTS.revision()).isEqualTo(same.revision()).matches("[0-9a-f]{16}");
    }

    @Test
    void every_single_part_changes_the_revision() {
        Set<String> revisions = new HashSet<>(Set.of(PARTS.revision()));

        revisions.add(new RevisionParts("x", "c", "t", "tc", "g", "sha256_cbor", "0", 16, 64).revision());
        revisions.add(new RevisionParts("w", "x", "t", "tc", "g", "sha256_cbor", "0", 16, 64).revision());
        revisions.add(new RevisionParts("w", "c", "x", "tc", "g", "sha256_cbor", "0", 16, 64).revision());
        revisions.add(new RevisionParts("w", "c", "t", "x", "g", "sha256_cbor", "0", 16, 64).revision());
        revisions.add(new RevisionParts("w", "c", "t", "tc", "x", "sha256_cbor", "0", 16, 64).revision());
        revisions.add(new RevisionParts("w", "c", "t", "tc", "g", "x", "0", 16, 64).revision());
        revisions.add(new RevisionParts("w", "c", "t", "tc", "g", "sha256_cbor", "1", 16, 64).revision());
        revisions.add(new RevisionParts("w", "c", "t", "tc", "g", "sha256_cbor", "0", 8, 64).revision());
        revisions.add(new RevisionParts("w", "c", "t", "tc", "g", "sha256_cbor", "0", 16, 32).revision());

        assertThat(revisions).hasSize(10);
    }

    /** Both as before there was such a part, so that a router of then takes what has none. */
    @Test
    void a_chat_template_in_a_file_of_its_own_is_a_part_only_where_there_is_one() {
        var with = new RevisionParts("w", "c", "t", "tc", "g", "sha256_cbor", "0", 16, 64, "j");

        assertThat(PARTS.revision()).isEqualTo("db3ee4992ea12467");
        assertThat(PARTS.byName()).doesNotContainKey("chatTemplate");
        assertThat(with.revision()).isNotEqualTo(PARTS.revision());
        assertThat(with.byName()).containsEntry("chatTemplate", "j");
    }
}
