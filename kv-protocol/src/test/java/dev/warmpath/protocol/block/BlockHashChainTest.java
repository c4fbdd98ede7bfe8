package dev.warmpath.protocol.block;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HexFormat;
import java.util.stream.IntStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** Golden vectors: produced by vLLM's own code with seed "0" (K10, K11 and the specification's section 3.5). */
class BlockHashChainTest {

    @Test
    @DisplayName("K10: tokens 0..31 in blocks of 16")
    void two_blocks_of_sixteen_give_vllms_hashes_and_event_keys() {
        var chain = BlockHashChain.of(HashSettings.ofBlockSize(16), ExtraKeys.NONE, IntStream.range(0, 32).toArray());

        assertThat(chain.blockCount()).isEqualTo(2);
        assertThat(hex(chain, 0)).isEqualTo("d830de3d42c00f25a2949b5d12d98642664a44872c1614c5b0147556276afc9c");
        assertThat(Long.toUnsignedString(chain.key(0))).isEqualTo("12687895063098490012");
        assertThat(hex(chain, 1)).isEqualTo("fedd9e4abebebbe6f6cf96b682f08d316063fe2f22a5c552192dd62904fcccac");
        assertThat(Long.toUnsignedString(chain.key(1))).isEqualTo("1814341696565857452");
    }

    @Test
    @DisplayName("K11: tokens that need one, two, three and five bytes")
    void wide_token_ids_are_encoded_in_the_shortest_form() {
        int[] tokens = {128000, 23, 24, 255, 256, 65535, 65536, 151643};
        var chain = BlockHashChain.of(HashSettings.ofBlockSize(4), ExtraKeys.NONE, tokens);

        assertThat(hex(chain, 0)).isEqualTo("bfbe0c7b683a1716473bf38c0c2f9b2c02d8a8ab3ebc2ba189d305051f766eff");
        assertThat(hex(chain, 1)).isEqualTo("4169efabc2be093cade3166d4acc97351a71b9213ba3148f19292b7f5eb1d492");
    }

    @Test
    @DisplayName("K9: salt, adapter and both in the first block")
    void salt_and_adapter_enter_the_first_block_as_vllm_writes_them() {
        assertThat(firstHash(new ExtraKeys(null, "salt1")))
                .isEqualTo("24e829cd266e3c8f3c3064abfb08233b5d0bb83ceeca8628dae8bd6166ea7941");
        assertThat(firstHash(new ExtraKeys("my-lora", null)))
                .isEqualTo("8b4227ad680a61cde1060f9e82d7d2994ea655458dd28e17c756e32d62e77a73");
        assertThat(firstHash(new ExtraKeys("my-lora", "salt1")))
                .isEqualTo("757b2824baf8fff87cb6d8cf42ecd594ba630fdac2d94e4ea5c16a3bfc5ce79d");
    }

    @Test
    void an_empty_salt_is_no_salt() {
        assertThat(firstHash(ExtraKeys.ofSalt(""))).isEqualTo(firstHash(ExtraKeys.NONE));
    }

    @Test
    void a_partly_filled_block_has_no_hash() {
        var chain = BlockHashChain.of(HashSettings.ofBlockSize(16), ExtraKeys.NONE, new int[31]);

        assertThat(chain.blockCount()).isEqualTo(1);
        assertThatThrownBy(() -> chain.key(1)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void a_chain_that_grows_token_by_token_equals_one_made_at_once() {
        int[] tokens = IntStream.range(1000, 1000 + 333).toArray();
        var grown = new BlockHashChain(HashSettings.ofBlockSize(8), ExtraKeys.ofSalt("s:x"));
        for (int count = 1; count <= tokens.length; count++) {
            grown.extend(tokens, count);
        }
        var whole = BlockHashChain.of(HashSettings.ofBlockSize(8), ExtraKeys.ofSalt("s:x"), tokens);

        assertThat(grown.blockCount()).isEqualTo(41);
        for (int block = 0; block < 41; block++) {
            assertThat(grown.hash(block)).isEqualTo(whole.hash(block));
        }
    }

    @Test
    void the_last_token_of_a_prompt_is_never_reusable() {
        HashSettings settings = HashSettings.ofBlockSize(16);

        assertThat(settings.reusableBlocks(1)).isZero();
        assertThat(settings.reusableBlocks(16)).isZero();
        assertThat(settings.reusableBlocks(17)).isEqualTo(1);
        assertThat(settings.reusableBlocks(64)).isEqualTo(3);
    }

    @Test
    void settings_and_tokens_that_cannot_be_hashed_are_refused_by_value() {
        assertThatThrownBy(() -> new HashSettings("xxhash", "0", 16)).hasMessageContaining("'xxhash'");
        assertThatThrownBy(() -> HashSettings.ofBlockSize(0)).hasMessageContaining("block size 0");
        assertThatThrownBy(() -> BlockHashChain.of(HashSettings.ofBlockSize(2), ExtraKeys.NONE, new int[] {1, -7}))
                .hasMessage("token id -7 at position 1 is negative");
    }

    private static String firstHash(ExtraKeys extraKeys) {
        return hex(BlockHashChain.of(HashSettings.ofBlockSize(16), extraKeys, IntStream.range(0, 16).toArray()), 0);
    }

    private static String hex(BlockHashChain chain, int block) {
        return HexFormat.of().formatHex(chain.hash(block));
    }
}
