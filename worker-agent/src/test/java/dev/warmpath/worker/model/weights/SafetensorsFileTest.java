package dev.warmpath.worker.model.weights;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.warmpath.worker.compute.WeightFormat;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SafetensorsFileTest {

    private static final String TWO_TENSORS = """
            {"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]},\
            "a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}}""";

    @TempDir
    private Path directory;

    private Path write(long headerLength, String header, int dataBytes) throws IOException {
        byte[] json = header.getBytes(StandardCharsets.UTF_8);
        var file = ByteBuffer.allocate(8 + json.length + dataBytes).order(ByteOrder.LITTLE_ENDIAN);
        file.putLong(headerLength).put(json);
        for (int i = 0; i < dataBytes; i++) {
            file.put((byte) i);
        }
        return Files.write(directory.resolve("model.safetensors"), file.array());
    }

    private Path write(String header, int dataBytes) throws IOException {
        return write(header.length(), header, dataBytes);
    }

    private WeightFileException refusal(Path file) {
        return Objects.requireNonNull(
                catchThrowableOfType(WeightFileException.class, () -> SafetensorsFile.open(file).close()));
    }

    @Test
    void tensors_are_found_with_type_shape_and_bytes() throws IOException {
        try (var file = SafetensorsFile.open(write(TWO_TENSORS, 12))) {
            assertThat(file.tensors()).extracting(WeightTensor::name).containsExactly("a", "b");
            var b = file.tensors().get(1);
            assertThat(b.format()).isEqualTo(WeightFormat.BF16);
            assertThat(b.shape()).isEqualTo(List.of(2));
            assertThat(b.values().toArray(ValueLayout.JAVA_BYTE)).containsExactly(8, 9, 10, 11);
            assertThat(file.tensors().getFirst().shape()).isEqualTo(List.of(2, 1));
        }
    }

    @ParameterizedTest
    @CsvSource({"-1, 18446744073709551615", "100000001, 100000001", "1000, 1000"})
    void a_header_length_past_the_file_or_the_limit_is_refused(long length, String printed) throws IOException {
        var refusal = refusal(write(length, TWO_TENSORS, 12));
        assertThat(refusal.offset()).isZero();
        assertThat(refusal).hasMessageContaining("header of " + printed + " bytes, takes up to ");
    }

    @Test
    void a_file_without_a_header_length_is_refused() throws IOException {
        assertThat(refusal(Files.write(directory.resolve("short"), new byte[7])))
                .hasMessageContaining("file of 7 bytes has no header length");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
        "{\"a\":                                                       | header | is not JSON",
        "[]                                                            | header | is not a JSON object",
        "{} {}                                                         | header | goes on after the JSON object",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"a\":{}} | header | Duplicate",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}                     | a | are not two whole numbers",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4.5]}} | a | data_offsets holds 4.5",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}} | a | [4, 0] leave the data of 4 bytes",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}} | a | [0, 8] leave the data of 4 bytes",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[-4,0]}} | a | data_offsets holds -4",
        "{\"a\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,4]}} | a | dtype F64, takes F32, F16 and BF16",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}} | a | shape [2] of F32 takes 8 bytes, has 4",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}} | a | shape holds -1",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}} | a | shape holds 1.0",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}} | a | shape is not a list",
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[2147483647,2147483647],\"data_offsets\":[0,4]}} | a | takes 922337203685",
        "{}                                                            | header | 4 bytes belong to no tensor",
        "{\"a\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[2,4]}} | a | leaves a hole before it",
        "{\"a\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[0,2]}} | header | 2 bytes belong to no tensor"})
    void a_header_that_breaks_a_rule_is_refused_with_the_tensor(String header, String part, String problem)
            throws IOException {
        Path file = write(header, 4);
        var refusal = refusal(file);
        assertThat(refusal.part()).isEqualTo(part.length() == 1 ? "tensor " + part : part);
        assertThat(refusal.file()).isEqualTo(file);
        assertThat(refusal).hasMessageContaining(problem).hasMessageContaining(file.toString());
    }

    @Test
    void overlapping_tensors_are_refused_with_the_offset_in_the_file() throws IOException {
        String header = """
                {"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},\
                "b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}""";
        var refusal = refusal(write(header, 12));
        assertThat(refusal.part()).isEqualTo("tensor b");
        assertThat(refusal.offset()).isEqualTo(8 + header.length() + 4);
        assertThat(refusal).hasMessageContaining("overlaps the tensor before it");
    }
}
