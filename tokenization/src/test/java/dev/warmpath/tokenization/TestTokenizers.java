package dev.warmpath.tokenization;

import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.stream.IntStream;

/** The small tokenizers of {@code tokenizers/generate.py}, and texts to try them with. */
public final class TestTokenizers {
    public static final ModelTokenizer BYTE_LEVEL = new ModelTokenizer(files("byte-level.json"));
    public static final ModelTokenizer METASPACE = new ModelTokenizer(files("metaspace.json"));
    private static final String[] PIECES = {
        "Hello", " world", " the", "  ", "\n", "\n\n", "\t", " ", "42", "größe", "日本語", "、", "你好", "😀", "👩‍👩‍👧", "🇩🇪",
        "e\u0301", "\u0928\u093f", "\u00a0", "\u3000", "'s", "(i++)", "<|", "|>", "<|user", "user|>",
        "<think>", "</think>",
        "<|begin|>", "<|end|>", "<|user|>", "<|assistant|>", "<|wide|>", "\0", "\uFFFD", "▁", "x"};

    private TestTokenizers() {}

    public static byte[] resource(String name) {
        try (InputStream in = Objects.requireNonNull(
                TestTokenizers.class.getResourceAsStream("/tokenizers/" + name), name)) {
            return in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static ModelFiles files(String tokenizer) {
        return new ModelFiles(resource(tokenizer), resource("tokenizer_config.json"), null, null);
    }

    public static ModelFiles files(String tokenizerConfig, String generationConfig, String config) {
        return new ModelFiles(
                resource("byte-level.json"), bytes(tokenizerConfig), bytes(generationConfig), bytes(config));
    }

    public static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** The library's own reading of the same file, through DJL's front. */
    static HuggingFaceTokenizer library(byte[] tokenizer) throws IOException {
        return HuggingFaceTokenizer.newInstance(new ByteArrayInputStream(tokenizer),
                Map.of("truncation", "false", "padding", "false", "modelMaxLength", "1000000"));
    }

    public static String randomText(Random random, int pieces) {
        var text = new StringBuilder();
        for (int i = 0; i < pieces; i++) {
            text.append(PIECES[random.nextInt(PIECES.length)]);
        }
        return text.toString();
    }

    public static int[] randomIds(Random random, int count, int vocabularySize) {
        return IntStream.generate(() -> random.nextInt(vocabularySize)).limit(count).toArray();
    }
}
