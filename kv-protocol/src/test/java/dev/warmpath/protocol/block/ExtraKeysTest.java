package dev.warmpath.protocol.block;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class ExtraKeysTest {

    /** The three items of K12, in blocks of 16. */
    private static final List<MediaItem> THREE_IMAGES =
            List.of(new MediaItem("aaa", 11, 10), new MediaItem("bbb", 30, 18), new MediaItem("ccc", 48, 7));
    /** SHA-256 of the seed "0" as text, the parent of every first block. */
    private static final String ROOT = "4e1195df020de59e0d65a33a4279f1183e7ae4e5d980e309f8b55adff2e61c3e";

    @Test
    @DisplayName("K12: images at 11..20, 30..47 and 48..54 in blocks of 16")
    void every_block_names_the_images_that_reach_into_it_and_where_they_begin() {
        var keys = new ExtraKeys(null, THREE_IMAGES, null);

        assertThat(written(keys, 16, 5)).containsExactly(
                array(pair("aaa", "0b")),                                     // 11
                array(pair("aaa", "24"), pair("bbb", "0e")),                  // -5, 14
                array(pair("bbb", "21")),                                     // -2
                array(pair("ccc", "00")),
                "f6");
    }

    @Test
    @DisplayName("K12: the salt comes last and only in block 0")
    void the_adapter_stands_before_the_images_and_the_salt_behind_them() {
        var salted = new ExtraKeys(null, THREE_IMAGES, "s1");
        var both = new ExtraKeys("lo", THREE_IMAGES, "s1");

        assertThat(written(salted, 16, 5)).containsExactly(
                array(pair("aaa", "0b"), text("s1")), array(pair("aaa", "24"), pair("bbb", "0e")),
                array(pair("bbb", "21")), array(pair("ccc", "00")), "f6");
        assertThat(written(both, 16, 5)).containsExactly(
                array(text("lo"), pair("aaa", "0b"), text("s1")),
                array(text("lo"), pair("aaa", "24"), pair("bbb", "0e")),
                array(text("lo"), pair("bbb", "21")), array(text("lo"), pair("ccc", "00")), array(text("lo")));
    }

    @Test
    @DisplayName("K12: the bytes of a block with two images are vLLM's")
    void a_block_with_two_images_has_vllms_hash() throws Exception {
        // vLLM's vector has four tokens beside the keys of a block of sixteen; no chain has such a block
        String preimage = "83" + "5820" + ROOT + "84" + "01020304"
                + written(new ExtraKeys(null, THREE_IMAGES, null), 16, 2).get(1);

        byte[] hash = MessageDigest.getInstance("SHA-256").digest(HexFormat.of().parseHex(preimage));

        assertThat(preimage).endsWith("82" + "82" + "63616161" + "24" + "82" + "63626262" + "0e");
        assertThat(HexFormat.of().formatHex(hash))
                .isEqualTo("ef2b28ad78c4d3c1a628aad45aa440811f3ba8177c74b8d0b3f5f148995148e4");
    }

    @Test
    @DisplayName("K9: owners, adapters and images keep their prefixes apart")
    void a_chain_changes_with_its_extra_keys_from_the_block_on_that_has_them() {
        int[] tokens = IntStream.range(0, 64).toArray();
        BlockHashChain plain = chain(ExtraKeys.NONE, tokens);
        BlockHashChain image = chain(new ExtraKeys(null, List.of(new MediaItem("aaa", 20, 4)), null), tokens);
        BlockHashChain other = chain(new ExtraKeys(null, List.of(new MediaItem("bbb", 20, 4)), null), tokens);
        BlockHashChain moved = chain(new ExtraKeys(null, List.of(new MediaItem("aaa", 21, 4)), null), tokens);

        assertThat(image.hash(0)).isEqualTo(plain.hash(0)).isEqualTo(other.hash(0)).isEqualTo(moved.hash(0));
        for (int block = 1; block < 4; block++) {
            assertThat(List.of(key(plain, block), key(image, block), key(other, block), key(moved, block)))
                    .doesNotHaveDuplicates();
        }
        assertThat(List.of(key(plain, 0), key(chain(ExtraKeys.ofSalt("s1"), tokens), 0),
                key(chain(ExtraKeys.ofSalt("s2"), tokens), 0), key(chain(new ExtraKeys("lo", null), tokens), 0)))
                .doesNotHaveDuplicates();
    }

    @Test
    void a_chain_that_grows_token_by_token_passes_images_like_one_made_at_once() {
        int[] tokens = IntStream.range(0, 80).toArray();
        var keys = new ExtraKeys("lo", THREE_IMAGES, "s1");
        var grown = new BlockHashChain(HashSettings.ofBlockSize(16), keys);
        for (int count = 1; count <= tokens.length; count++) {
            grown.extend(tokens, count);
        }

        assertThat(hashes(grown)).isEqualTo(hashes(chain(keys, tokens)));
    }

    @Test
    void a_fork_goes_on_by_itself() {
        int[] tokens = IntStream.range(0, 80).toArray();
        var keys = new ExtraKeys(null, THREE_IMAGES, "s1");
        BlockHashChain parent = chain(keys, Arrays.copyOf(tokens, 40));

        BlockHashChain child = parent.fork();
        child.extend(tokens, 80);

        assertThat(parent.blockCount()).isEqualTo(2);
        assertThat(hashes(child)).isEqualTo(hashes(chain(keys, tokens)));
    }

    @Test
    void chains_under_equal_keys_and_settings_have_one_root_however_short_they_are() {
        int[] none = {};
        BlockHashChain chain = chain(new ExtraKeys("lo", THREE_IMAGES, "s1"), none);

        assertThat(chain.hasRootOf(chain.fork())).isTrue();
        assertThat(chain.hasRootOf(chain(new ExtraKeys("lo", List.copyOf(THREE_IMAGES), "s1"), none))).isTrue();
        assertThat(chain.hasRootOf(chain(new ExtraKeys("lo", THREE_IMAGES, "s2"), none))).isFalse();
        assertThat(chain.hasRootOf(chain(new ExtraKeys("la", THREE_IMAGES, "s1"), none))).isFalse();
        assertThat(chain.hasRootOf(chain(new ExtraKeys("lo", "s1"), none))).isFalse();
    }

    @Test
    void items_without_a_place_are_refused_by_name() {
        assertThatThrownBy(() -> new MediaItem("", 3, 1)).hasMessage("a media item at position 3 has no identifier");
        assertThatThrownBy(() -> new MediaItem("a", -1, 1)).hasMessageContaining("'a' of 1 tokens at position -1");
        assertThatThrownBy(() -> new MediaItem("a", 0, 0)).hasMessageContaining("'a' of 0 tokens");
        assertThatThrownBy(() -> new MediaItem("a", 1, Integer.MAX_VALUE)).hasMessageContaining("at position 1");
        assertThatThrownBy(() -> new ExtraKeys(null,
                List.of(new MediaItem("a", 4, 4), new MediaItem("b", 7, 1)), null))
                .hasMessage("media item 'b' begins at position 7, before the end 8 of 'a' in front of it");
    }

    /** The extra keys of the first blocks, as hexadecimal CBOR. */
    private static List<String> written(ExtraKeys keys, int blockSize, int blockCount) {
        var writer = new ExtraKeyWriter(keys, blockSize);
        var out = new CborWriter();
        return IntStream.range(0, blockCount).mapToObj(block -> {
            out.clear();
            writer.write(out, block);
            return HexFormat.of().formatHex(out.buffer(), 0, out.size());
        }).toList();
    }

    private static String array(String... items) {
        return "8" + items.length + String.join("", items);
    }

    private static String pair(String text, String integer) {
        return "82" + text(text) + integer;
    }

    private static String text(String text) {
        return "6" + text.length() + HexFormat.of().formatHex(text.getBytes());
    }

    private static BlockHashChain chain(ExtraKeys keys, int[] tokens) {
        return BlockHashChain.of(HashSettings.ofBlockSize(16), keys, tokens);
    }

    private static long key(BlockHashChain chain, int block) {
        return chain.key(block);
    }

    private static List<String> hashes(BlockHashChain chain) {
        return IntStream.range(0, chain.blockCount()).mapToObj(b -> HexFormat.of().formatHex(chain.hash(b))).toList();
    }
}
