package dev.warmpath.protocol.block;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HexFormat;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class BlockHasherTest {

    private static final int[] TOKENS = IntStream.range(0, 48).toArray();

    @Test
    void blocks_hashed_one_by_one_are_those_of_the_chain() {
        var settings = HashSettings.ofBlockSize(16);
        var image = new MediaItem("aaa", 20, 14);
        BlockHashChain chain =
                BlockHashChain.of(settings, new ExtraKeys("a:tuned", List.of(image), "s:x"), TOKENS);
        var hasher = new BlockHasher(settings);
        long[] hash = hasher.root().clone();

        hasher.hash(hash, 0, TOKENS, 0, new BlockExtraKeys("a:tuned", List.of(), "s:x"), hash, 0);
        assertThat(chain.hashEquals(0, hash, 0)).isTrue();
        hasher.hash(hash, 0, TOKENS, 16, withImageAt(4), hash, 0);
        assertThat(chain.hashEquals(1, hash, 0)).isTrue();
        hasher.hash(hash, 0, TOKENS, 32, withImageAt(-12), hash, 0);
        assertThat(chain.hashEquals(2, hash, 0)).isTrue();
    }

    @Test
    @DisplayName("K12: vLLM's vector of a block of four tokens with two images")
    void a_block_with_two_images_has_vllms_hash() {
        var hasher = new BlockHasher(HashSettings.ofBlockSize(4));
        long[] hash = new long[4];

        hasher.hash(hasher.root(), 0, new int[] {1, 2, 3, 4}, 0, new BlockExtraKeys(null,
                List.of(new BlockExtraKeys.Media("aaa", -5), new BlockExtraKeys.Media("bbb", 14)), null), hash, 0);

        assertThat(hex(hash)).isEqualTo("ef2b28ad78c4d3c1a628aad45aa440811f3ba8177c74b8d0b3f5f148995148e4");
    }

    @Test
    @DisplayName("vLLM's vectors without PYTHONHASHSEED, since 0.29")
    void the_seed_is_the_parent_of_the_first_block() {
        var hasher = new BlockHasher(new HashSettings(HashSettings.SHA256_CBOR, "vllm-none-hash", 4));
        long[] hash = new long[8];

        hasher.hash(hasher.root(), 0, new int[] {1, 2, 3, 4, 5, 6, 7, 8}, 0, BlockExtraKeys.NONE, hash, 0);
        hasher.hash(hash, 0, new int[] {1, 2, 3, 4, 5, 6, 7, 8}, 4, BlockExtraKeys.NONE, hash, 4);

        assertThat(hex(hasher.root())).isEqualTo("9bd96a485ad84efdafb72ee48a1d7a69bcead0f8f0433173941b276b9581eef0");
        assertThat(hex(hash)).isEqualTo("58d0879dff3800f65f8c5fd449d73048c0f7699dd238a03b84b146b151d55111"
                + "e1bc29393a2da9fd798f35ff04d215f846aee6df4b803ce3d43b57df56b58fb1");
    }

    private static BlockExtraKeys withImageAt(int offset) {
        return new BlockExtraKeys("a:tuned", List.of(new BlockExtraKeys.Media("aaa", offset)), null);
    }

    private static String hex(long[] words) {
        var text = new StringBuilder();
        for (long word : words) {
            text.append(HexFormat.of().toHexDigits(word));
        }
        return text.toString();
    }
}
