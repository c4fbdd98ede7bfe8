package dev.warmpath.worker.kvcache;

import static dev.warmpath.worker.kvcache.Sequences.range;
import static dev.warmpath.worker.kvcache.Sequences.sequence;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.warmpath.protocol.block.ExtraKeys;
import dev.warmpath.protocol.block.HashSettings;
import org.junit.jupiter.api.Test;

class TokenSequenceTest {

    @Test
    void a_fork_has_the_same_past_and_a_future_of_its_own() {
        TokenSequence parent = sequence(4, ExtraKeys.ofSalt("s"), range(0, 5));
        parent.append(6);
        parent.hash();
        TokenSequence child = parent.fork();
        assertThat(child.promptLength()).isEqualTo(6);
        assertThat(child.chain().blockCount()).as("hashes are taken over").isEqualTo(1);

        parent.append(7);
        child.append(70);
        parent.hash();
        child.hash();

        assertThat(parent.token(7)).isEqualTo(7);
        assertThat(child.token(7)).isEqualTo(70);
        assertThat(child.chain().key(0)).isEqualTo(parent.chain().key(0));
        assertThat(child.chain().key(1)).isNotEqualTo(parent.chain().key(1));
        TokenSequence alone = sequence(4, ExtraKeys.ofSalt("s"), 0, 1, 2, 3, 4, 5, 6, 70);
        alone.hash();
        assertThat(child.chain().key(1)).isEqualTo(alone.chain().key(1));
    }

    @Test
    void expected_tokens_count_as_uncomputed_and_become_known_one_by_one() {
        TokenSequence sequence = sequence(4, range(0, 5));
        sequence.expect(2);
        assertThat(sequence.tokenCount()).isEqualTo(6);
        assertThat(sequence.uncomputedTokens()).isEqualTo(8);

        sequence.append(6);
        assertThat(sequence.tokenCount()).isEqualTo(7);
        assertThat(sequence.pendingTokens()).isEqualTo(1);
        assertThat(sequence.uncomputedTokens()).isEqualTo(8);

        assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> sequence.token(7));
        assertThatIllegalArgumentException().isThrownBy(() -> sequence.expect(-1));
    }

    @Test
    void a_sequence_of_no_tokens_is_refused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new TokenSequence(HashSettings.ofBlockSize(4), ExtraKeys.NONE, new int[0]));
    }
}
