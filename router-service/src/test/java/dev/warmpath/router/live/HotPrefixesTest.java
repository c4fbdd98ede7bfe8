package dev.warmpath.router.live;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.RevisionParts;
import dev.warmpath.router.models.ServedModel;
import dev.warmpath.router.routing.TokenizedPrompt;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class HotPrefixesTest {

    private static final int BLOCK = 4;
    private static final ServedModel MODEL = model("one");
    private final HotPrefixes prefixes = new HotPrefixes(/* keepsTokens */ true);

    private static ServedModel model(String weights) {
        var parts = new RevisionParts(weights, "", "", "", "", HashSettings.SHA256_CBOR, "0", BLOCK, 4_096);
        return new ServedModel(new ModelDescription("tiny", parts.revision(), parts, 1_000, 2048),
                HashSettings.ofBlockSize(BLOCK), null);          // nothing is made text here
    }

    /** A prompt of one block for each number, its tokens all that number. */
    private static int[] blocks(int... numbers) {
        return Arrays.stream(numbers).flatMap(number -> IntStream.generate(() -> number).limit(BLOCK)).toArray();
    }

    private void add(int... numbers) {
        prefixes.add(TokenizedPrompt.of(MODEL, blocks(numbers)));
    }

    private static String shown(HotPrefixes.Prefix node) {
        return node.depth() + "/" + node.blocks() + " x" + node.hits() + " "
                + Arrays.toString(Arrays.stream(node.tokens()).distinct().toArray());
    }

    @Test
    void what_two_prompts_share_is_one_node_and_what_they_do_not_share_goes_on_from_it() {
        add(1, 2, 3, 4);
        add(1, 2, 3, 5, 6);

        List<HotPrefixes.Prefix> nodes = prefixes.hottest();

        assertThat(nodes).extracting(HotPrefixesTest::shown)
                .containsExactly("3/3 x2 [1, 2, 3]", "4/1 x1 [4]", "5/2 x1 [5, 6]");
        assertThat(nodes.getFirst().parent()).isNull();
        assertThat(nodes.subList(1, 3)).allSatisfy(each ->
                assertThat(each.parent()).isEqualTo(nodes.getFirst().key()));
        assertThat(nodes.getFirst().key()).isEqualTo(TokenizedPrompt.of(MODEL, blocks(1, 2, 3)).chain().key(2));
    }

    @Test
    void a_prompt_that_is_the_beginning_of_another_one_ends_in_its_middle() {
        add(1, 2);
        add(1, 2, 3);
        add(1, 2, 3);

        assertThat(prefixes.hottest()).extracting(HotPrefixesTest::shown)
                .containsExactly("2/2 x3 [1, 2]", "3/1 x2 [3]");
    }

    @Test
    void equal_tokens_of_two_revisions_are_two_nodes() {
        add(1);
        prefixes.add(TokenizedPrompt.of(model("two"), blocks(1)));

        assertThat(prefixes.hottest()).extracting(each -> each.model().revision()).doesNotHaveDuplicates().hasSize(2);
    }

    @Test
    void a_prompt_without_a_full_block_counts_as_a_request_and_has_no_node() {
        prefixes.add(TokenizedPrompt.of(MODEL, new int[] {1, 2, 3}));

        assertThat(prefixes.prompts()).isEqualTo(1);
        assertThat(prefixes.hottest()).isEmpty();
    }

    @Test
    void of_300_prompts_the_last_256_count_each_with_512_blocks_and_64_nodes_are_told() {
        for (int i = 0; i < 300; i++) {
            add(IntStream.concat(IntStream.of(i), IntStream.range(1_000, 1_600)).toArray());
        }

        assertThat(prefixes.prompts()).isEqualTo(256);
        assertThat(prefixes.hottest()).hasSize(64).allSatisfy(each -> {
            assertThat(each.depth()).isEqualTo(512);
            assertThat(each.tokens()[0]).isGreaterThanOrEqualTo(44);
        });
    }

    @Test
    void without_demo_no_token_is_kept() {
        var discreet = new HotPrefixes(/* keepsTokens */ false);
        discreet.add(TokenizedPrompt.of(MODEL, blocks(1, 2)));

        assertThat(discreet.hottest()).singleElement().satisfies(each -> assertThat(each.tokens()).isEmpty());
    }

    /** Against counting how many prompts go through each block, one by one. */
    @Test
    void two_hundred_random_prompts_are_counted_as_one_by_one_counting_does() {
        var random = new Random(19);
        Map<Long, Integer> hits = new HashMap<>();
        List<int[]> prompts = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            int[] numbers = random.ints(1 + random.nextInt(12), 0, 2).toArray();
            prompts.add(numbers);
            TokenizedPrompt prompt = TokenizedPrompt.of(MODEL, blocks(numbers));
            prefixes.add(prompt);
            for (int block = 0; block < numbers.length; block++) {
                hits.merge(prompt.chain().key(block), 1, Integer::sum);
            }
        }

        List<HotPrefixes.Prefix> nodes = prefixes.hottest();

        assertThat(nodes).hasSize(64).allSatisfy(each -> assertThat(each.hits()).isEqualTo(hits.get(each.key())));
        assertThat(nodes).extracting(HotPrefixes.Prefix::hits).isSortedAccordingTo((a, b) -> b - a);
        assertThat(nodes).filteredOn(each -> each.parent() != null).allSatisfy(each ->
                assertThat(nodes.subList(0, nodes.indexOf(each))).extracting(HotPrefixes.Prefix::key)
                        .contains(each.parent()));
    }
}
