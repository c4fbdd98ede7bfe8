package dev.warmpath.router.keys;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a file of keys may say, and what the command writes. */
class KeyFileTest {

    /** {@code printf test | sha256sum}. */
    private static final String TEST = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    private static final String OTHER = "sha256:" + "0".repeat(64);

    private static List<KeyFile.Key> parse(String text) {
        return KeyFile.parse(text.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void a_line_has_a_name_a_hash_and_what_the_key_may_do_in_any_order() {
        List<KeyFile.Key> keys = parse("""
                # who may use it

                team-a  %s  tokens-per-minute=5000 requests-per-minute=60
                  ops\t%s operator\r
                """.formatted(TEST, OTHER.replace('0', 'A')));

        assertThat(keys).extracting(KeyFile.Key::grant).containsExactly(
                new Grant("team-a", false, 60, 5_000), new Grant("ops", true, Grant.NO_LIMIT, Grant.NO_LIMIT));
        assertThat(keys.getFirst().hash().isSame(KeyHash.of("test"))).isTrue();
        assertThat(keys.getLast().hash().isSame(KeyHash.of("test"))).isFalse();
    }

    @Test
    void two_keys_of_one_name_are_how_one_takes_the_others_place() {
        assertThat(parse("a " + TEST + "\na " + OTHER)).hasSize(2);
        assertThatIllegalArgumentException().isThrownBy(() -> parse("a " + TEST + "\na " + OTHER + " operator"))
                .withMessageStartingWith("line 2: keys of one name may do the same");
        assertThatIllegalArgumentException().isThrownBy(() -> parse("a " + TEST + "\nb " + TEST))
                .withMessageStartingWith("line 2: the same key is there before");
    }

    @ParameterizedTest
    @ValueSource(strings = {"wp-SECRET", "wp-SECRET sha256:1", "a wp-SECRET", "a sha256:wp-SECRET", "a sha256:",
        "a md5:SECRET", "a HASH SECRET", "a HASH operator SECRET", "a HASH Operator", "a HASH oper",
        "a HASH requests-per-minute=", "a HASH requests-per-minute=0", "a HASH requests-per-minute=-1",
        "a HASH requests-per-minute=1000000001", "a HASH requests-per-minute=99999999999999999999",
        "a HASH requests-per-minute=1e3", "a HASH requests-per-minute=6 requests-per-minute=6",
        "a HASH tokens-per-minute=SECRET", "- HASH", "a/b HASH", "a\u00e4 HASH", "\u0000 HASH", "a HASHHASH"})
    void what_is_no_line_is_refused_by_its_number_and_nothing_of_it_is_repeated(String line) {
        String text = "ok " + OTHER + "\n" + line.replace("HASH", TEST);

        assertThatIllegalArgumentException().isThrownBy(() -> parse(text))
                .withMessageStartingWith("line 2: ").withMessageNotContainingAny("SECRET", "9f86d081");
    }

    @Test
    void a_name_has_63_characters_at_most() {
        assertThat(parse("n".repeat(63) + " " + TEST)).hasSize(1);
        assertThatIllegalArgumentException().isThrownBy(() -> parse("n".repeat(64) + " " + TEST))
                .withMessageStartingWith("line 1: a name is 1 to 63 letters");
    }

    @Test
    void there_are_1000_keys_at_most_and_256_kb() throws Exception {
        String thousand = IntStream.range(0, 1_000).mapToObj(i -> "k" + i + " sha256:%064x\n".formatted(i))
                .collect(Collectors.joining());

        assertThat(parse(thousand)).hasSize(1_000);
        assertThatIllegalArgumentException().isThrownBy(() -> parse(thousand + "one " + TEST))
                .withMessage("line 1001: there may be 1000 keys");
    }

    @Test
    void a_file_that_does_not_end_is_not_read_to_its_end(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("keys");
        Files.writeString(file, "#".repeat(256 << 10));
        assertThat(KeyFile.bytes(file)).hasSize(256 << 10);
        assertThatIllegalArgumentException().isThrownBy(() -> KeyFile.bytes(Path.of("/dev/zero")))
                .withMessage("it is longer than 262144 bytes");
    }

    @Test
    void the_command_prints_a_key_of_256_bits_and_the_line_that_knows_it() {
        String first = key("team-a", "--requests-per-minute", "60", "--tokens-per-minute", "5000", "--operator");
        String second = key("team-a");

        String key = first.lines().filter(line -> line.startsWith("  wp-")).findFirst().orElseThrow().strip();
        assertThat(key).matches("wp-[A-Za-z0-9_-]{43}");
        assertThat(second).doesNotContain(key);
        KeyFile.Key line = parse(first.lines().toList().getLast()).getFirst();
        assertThat(line.hash().isSame(KeyHash.of(key))).isTrue();
        assertThat(line.grant()).isEqualTo(new Grant("team-a", true, 60, 5_000));
        assertThat(second.lines().toList().getLast()).matches("team-a  sha256:[0-9a-f]{64}");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "a b", "--operator", "a --admin", "a --requests-per-minute", "a --tokens-per-minute 0"})
    void wrong_arguments_make_no_key(String arguments) {
        var out = new ByteArrayOutputStream();
        var err = new ByteArrayOutputStream();

        List<String> words = arguments.isEmpty() ? List.of() : List.of(arguments.split(" "));
        assertThat(KeyCommand.run(words, new PrintStream(out), new PrintStream(err))).isEqualTo(2);
        assertThat(out.size()).isZero();
        assertThat(err.toString(StandardCharsets.UTF_8)).hasLineCount(1);
    }

    private static String key(String... arguments) {
        var out = new ByteArrayOutputStream();
        assertThat(KeyCommand.run(List.of(arguments), new PrintStream(out), System.err)).isZero();
        return out.toString(StandardCharsets.UTF_8);
    }
}
