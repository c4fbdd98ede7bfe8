package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.acceptance.Gateway.Answer;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A router and two workers over a model that computes nothing but NaN behind its padding token. */
class UnusableLogitsTest {

    private static final int POISON = 2_047;
    private static final int VOCABULARY = 2_048;
    private static final int ROW_BYTES = 192 * Short.BYTES;
    private static final short NAN = 0x7FC0;                       // in bfloat16
    private static final SplittableRandom RANDOM = new SplittableRandom(12);

    @TempDir
    Path folder;

    @Test
    @Tag("full")
    void a_prompt_that_gives_nan_fails_alone_and_at_one_worker_while_others_are_answered() throws IOException {
        try (var fleet = LocalFleet.start(1, 2, LocalFleet.patient(), List.of(), poisonedModel())) {
            Gateway gateway = fleet.gateway();
            List<int[]> prompts = IntStream.range(0, 8).mapToObj(i -> prompt(200)).toList();
            List<String> alone = prompts.stream().map(each -> gateway.complete(each, 60).text()).toList();
            int[] bad = prompt(700);
            bad[300] = POISON;

            for (int round = 0; round < 5; round++) {
                List<CompletableFuture<Answer>> others = prompts.stream()
                        .map(each -> CompletableFuture.supplyAsync(() -> gateway.complete(each, 60))).toList();
                Answer failed = gateway.complete(bad, 60);
                assertThat(failed.status()).as(failed.body().toString()).isEqualTo(422);
                assertThat(failed.body().path("error").path("code").asString()).isEqualTo("unusable_logits");
                assertThat(others.stream().map(CompletableFuture::join).map(Answer::text)).isEqualTo(alone);
            }
            assertThat(gateway.meter("warmpath_dispatch_failures_total{cause=\"unusable_logits\"}")).as("failed attempts").isEqualTo(5);
            assertThat(gateway.readyWorkers()).hasSize(2);
        }
    }

    private static int[] prompt(int length) {
        return RANDOM.ints(length, 0, 2_000).toArray();
    }

    /** The model with a head of its own, a copy of its embedding, of which then one row is spoilt. */
    private Path poisonedModel() throws IOException {
        Path original = LocalFleet.ROOT.resolve("models").resolve(LocalFleet.MODEL);
        Path model = Files.createDirectory(folder.resolve(LocalFleet.MODEL));
        for (String name : List.of("generation_config.json", "tokenizer.json", "tokenizer_config.json")) {
            Files.copy(original.resolve(name), model.resolve(name));
        }
        Files.writeString(model.resolve("config.json"), Files.readString(original.resolve("config.json"))
                .replace("\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false"));
        Files.write(model.resolve("model.safetensors"),
                withOwnHead(ByteBuffer.wrap(Files.readAllBytes(original.resolve("model.safetensors")))));
        return model;
    }

    private static byte[] withOwnHead(ByteBuffer file) {
        file.order(ByteOrder.LITTLE_ENDIAN);
        int headerBytes = (int) file.getLong();
        String header = new String(file.array(), Long.BYTES, headerBytes, StandardCharsets.UTF_8).stripTrailing();
        int data = Long.BYTES + headerBytes;
        int dataBytes = file.capacity() - data;
        int tableBytes = VOCABULARY * ROW_BYTES;
        int table = data + embeddingOffset(header);
        String text = "%s,\"lm_head.weight\":{\"dtype\":\"BF16\",\"shape\":[%d,%d],\"data_offsets\":[%d,%d]}}".formatted(
                header.substring(0, header.length() - 1), VOCABULARY, ROW_BYTES / Short.BYTES, dataBytes,
                dataBytes + tableBytes);
        byte[] longer = (text + " ".repeat(-text.length() & 7)).getBytes(StandardCharsets.UTF_8);
        var copy = ByteBuffer.allocate(Long.BYTES + longer.length + dataBytes + tableBytes)
                .order(ByteOrder.LITTLE_ENDIAN);
        copy.putLong(longer.length).put(longer).put(file.array(), data, dataBytes)
                .put(file.array(), table, tableBytes);
        int row = Long.BYTES + longer.length + embeddingOffset(header) + POISON * ROW_BYTES;
        for (int element = 0; element < ROW_BYTES; element += Short.BYTES) {
            copy.putShort(row + element, NAN);
        }
        return copy.array();
    }

    private static int embeddingOffset(String header) {
        String entry = header.substring(header.indexOf("\"model.embed_tokens.weight\""));
        String offsets = entry.substring(entry.indexOf("\"data_offsets\""));
        return Integer.parseInt(offsets.substring(offsets.indexOf('[') + 1, offsets.indexOf(',')).strip());
    }
}
