package dev.warmpath.worker.model;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One good safetensors file, and hundreds that differ from it in one place. */
class MutatedSafetensorsTest {

    /** A change to one tensor's description, {@code {"dtype":"BF16","shape":[36],"data_offsets":[0,72]}}, by name. */
    private static final Map<String, UnaryOperator<String>> MUTATIONS = new LinkedHashMap<>();

    static {
        MUTATIONS.put("another type of the same size", text -> text.replace("BF16", "I16"));
        MUTATIONS.put("another type of twice the size", text -> text.replace("BF16", "F32"));
        MUTATIONS.put("a type that is no text", text -> text.replace("\"BF16\"", "16"));
        MUTATIONS.put("no type", text -> text.replace("\"dtype\":\"BF16\",", ""));
        MUTATIONS.put("one element more", text -> text.replaceAll("\"shape\":\\[", "\"shape\":[1,1,2,"));
        MUTATIONS.put("a dimension more", text -> text.replaceAll("\"shape\":\\[", "\"shape\":[1,"));
        MUTATIONS.put("a negative dimension", text -> text.replaceAll("\"shape\":\\[", "\"shape\":[-"));
        MUTATIONS.put("a dimension past 31 bits",
                text -> text.replaceAll("\"shape\":\\[\\d+", "\"shape\":[4294967296"));
        MUTATIONS.put("a dimension past 63 bits", text -> text.replaceAll("\"shape\":\\[\\d+",
                "\"shape\":[18446744073709551616"));
        MUTATIONS.put("a fraction for a dimension", text -> text.replaceAll("\"shape\":\\[(\\d+)", "\"shape\":[$1.5"));
        MUTATIONS.put("no dimension left", text -> text.replaceAll("\"shape\":\\[[^]]*", "\"shape\":[0"));
        MUTATIONS.put("a list in a list", text -> text.replaceAll("\"shape\":\\[", "\"shape\":[[1],"));
        MUTATIONS.put("too many dimensions", text -> text.replaceAll("\"shape\":\\[", "\"shape\":[1,1,1,1,1,1,1,1,"));
        MUTATIONS.put("no shape", text -> text.replaceAll("\"shape\":\\[[^]]*],", ""));
        MUTATIONS.put("no offsets", text -> text.replaceAll(",\"data_offsets\":\\[[^]]*]", ""));
        MUTATIONS.put("one offset", text -> text.replaceAll("\"data_offsets\":\\[\\d+,", "\"data_offsets\":["));
        MUTATIONS.put("three offsets", text -> text.replaceAll("\"data_offsets\":\\[", "\"data_offsets\":[0,"));
        MUTATIONS.put("an end past everything",
                text -> text.replaceAll("(\"data_offsets\":\\[\\d+,)\\d+", "$19223372036854775807"));
        MUTATIONS.put("an end before its beginning",
                text -> text.replaceAll("\"data_offsets\":\\[(\\d+),(\\d+)", "\"data_offsets\":[$2,$1"));
        MUTATIONS.put("a beginning elsewhere", text -> text.replaceAll("\"data_offsets\":\\[", "\"data_offsets\":[9"));
        MUTATIONS.put("offsets that are texts",
                text -> text.replaceAll("\"data_offsets\":\\[(\\d+)", "\"data_offsets\":[\"$1\""));
        MUTATIONS.put("a key of which nobody knows", text -> text.replace("{", "{\"strides\":[1],"));
        MUTATIONS.put("a key twice", text -> text.replace("{", "{\"dtype\":\"BF16\","));
        MUTATIONS.put("no object", text -> "[" + text + "]");
        MUTATIONS.put("nothing", text -> "null");
    }

    @TempDir
    private Path folder;
    private Path file;
    private byte[] good;
    private String header;
    private Refusals refusals;

    @BeforeEach
    void a_file_that_is_taken() throws IOException {
        RandomLlama.create(7).write(folder);
        file = folder.resolve("model.safetensors");
        good = Files.readAllBytes(file);
        header = new String(good, 8, (int) headerLength(), StandardCharsets.UTF_8);
        refusals = new Refusals(folder);
        refusals.requireTaken();
    }

    private long headerLength() {
        return ByteBuffer.wrap(good).order(ByteOrder.LITTLE_ENDIAN).getLong();
    }

    private byte[] withHeader(String other) {
        byte[] json = other.getBytes(StandardCharsets.UTF_8);
        int dataStart = 8 + header.length();
        return ByteBuffer.allocate(8 + json.length + good.length - dataStart).order(ByteOrder.LITTLE_ENDIAN)
                .putLong(json.length).put(json).put(good, dataStart, good.length - dataStart).array();
    }

    @Test
    void every_change_to_the_description_of_a_tensor_is_refused() throws IOException {
        var description = Pattern.compile("(\"[^\"]+\"):(\\{\"dtype\"[^}]+})").matcher(header);
        while (description.find()) {
            for (var mutation : MUTATIONS.entrySet()) {
                String mutant = mutation.getValue().apply(description.group(2));
                assertThat(mutant).isNotEqualTo(description.group(2));
                refusals.requireRefused(mutation.getKey() + " of " + description.group(1), file,
                        withHeader(header.replace(description.group(2), mutant)));
            }
            String name = description.group(1);
            refusals.requireRefused("another name", file, withHeader(header.replace(name, name.replace('a', 'o')
                    .replace('e', 'a'))));
            refusals.requireRefused("left out: " + name, file,
                    withHeader(header.replace("," + description.group(), "")));
            refusals.requireRefused("twice: " + name, file,
                    withHeader(header.replace(description.group(), description.group() + "," + description.group())));
        }
        assertThat(refusals.count).isEqualTo(21 * 28);
    }

    @Test
    void a_file_that_ends_anywhere_or_has_another_length_of_header_is_refused() throws IOException {
        for (int length = 0; length < good.length; length += good.length / 101) {
            refusals.requireRefused("cut to " + length, file, Arrays.copyOf(good, length));
        }
        refusals.requireRefused("one byte too short", file, Arrays.copyOf(good, good.length - 1));
        refusals.requireRefused("one byte too long", file, Arrays.copyOf(good, good.length + 1));
        for (long length : new long[] {0, 1, headerLength() - 1, headerLength() + 1, headerLength() + 2, 100_000_001,
            good.length - 8, good.length, 1L << 32, Long.MAX_VALUE, Long.MIN_VALUE, -1}) {
            byte[] mutant = good.clone();
            ByteBuffer.wrap(mutant).order(ByteOrder.LITTLE_ENDIAN).putLong(length);
            refusals.requireRefused("header of " + length, file, mutant);
        }
        assertThat(refusals.count).isGreaterThan(115);
    }

    /** Of flips of one bit each in the header, those in the metadata may be taken. */
    @Test
    void whatever_bit_flips_nothing_but_a_refusal_comes_of_it() throws IOException {
        var random = new SplittableRandom(23);
        int refused = 0;
        for (int i = 0; i < 400; i++) {
            byte[] mutant = good.clone();
            mutant[random.nextInt(8 + header.length())] ^= (byte) (1 << random.nextInt(8));
            refused += refusals.survive(file, mutant) ? 1 : 0;
        }
        assertThat(refused).isBetween(350, 400);
    }

    /** Its header alone would be some hundred megabytes as a tree. */
    @Test
    void a_header_that_nests_or_repeats_without_end_costs_nothing() throws IOException {
        assertThat(refusals.requireRefused("nested", file, withHeader("[".repeat(2_000_000))))
                .contains("is not a JSON object");
        refusals.requireRefused("nested in metadata", file,
                withHeader("{\"__metadata__\":" + "[".repeat(2_000_000)));
        refusals.requireRefused("a long name", file, withHeader("{\"" + "a".repeat(2_000_000) + "\":1}"));
        refusals.requireRefused("a long type", file,
                withHeader("{\"a\":{\"dtype\":\"" + "F".repeat(2_000_000) + "\"}}"));
        refusals.requireRefused("a long number", file,
                withHeader("{\"a\":{\"shape\":[" + "9".repeat(2_000_000) + "]}}"));
        refusals.requireRefused("a long list", file,
                withHeader("{\"a\":{\"shape\":[" + "1,".repeat(1_000_000) + "1]}}"));
    }
}
