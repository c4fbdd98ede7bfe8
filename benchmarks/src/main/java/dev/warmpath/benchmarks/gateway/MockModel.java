package dev.warmpath.benchmarks.gateway;

import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.RevisionParts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * The model that the mock workers say they have: a real tokenizer, and no weights.
 *
 * @param description for the registration
 * @param token       of which every answer consists
 */
record MockModel(ModelDescription description, Token token) {

    static final String NAME = "mock";
    private static final List<String> FILES =
            List.of("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json");
    private static final int BLOCK_SIZE = 16;
    /** Long enough for 178 KB of text in a vocabulary of 2,048. */
    private static final int CONTEXT = 131_072;
    /** " the", as byte-level vocabularies write it. */
    private static final String PIECE = "\u0120the";

    /** @param text as a client sees it */
    record Token(int id, String text) {}

    /**
     * Makes the mock's model of another one: its tokenizer, and a context that is longer.
     *
     * @param original folder with config.json, tokenizer.json, tokenizer_config.json and perhaps generation_config.json
     * @param folder   gets the files
     * @param served   gets them by their digests, as workers serve them
     */
    static MockModel of(Path original, Path folder, Path served) throws IOException {
        for (String name : FILES) {
            if (Files.exists(original.resolve(name))) {
                Files.copy(original.resolve(name), folder.resolve(name));
            }
        }
        lengthen(folder.resolve("config.json"), "max_position_embeddings");
        lengthen(folder.resolve("tokenizer_config.json"), "model_max_length");
        var parts = new RevisionParts("a".repeat(64), serve(folder.resolve("config.json"), served),
                serve(folder.resolve("tokenizer.json"), served), serve(folder.resolve("tokenizer_config.json"), served),
                serve(folder.resolve("generation_config.json"), served), "sha256_cbor", "0", BLOCK_SIZE, CONTEXT);
        JsonNode id = json(folder.resolve("tokenizer.json")).path("model").path("vocab").path(PIECE);
        if (!id.isInt()) {
            throw new IOException(original + " has no token for \" the\": another byte-level vocabulary is needed");
        }
        int vocabulary = json(folder.resolve("config.json")).path("vocab_size").asInt();
        return new MockModel(new ModelDescription(NAME, parts.revision(), parts, 1, vocabulary),
                new Token(id.intValue(), " the"));
    }

    private static JsonNode json(Path file) throws IOException {
        return JsonMapper.shared().readTree(Files.readAllBytes(file));
    }

    /** The router holds what workers say of their context against what these files say. */
    private static void lengthen(Path file, String field) throws IOException {
        var settings = (ObjectNode) json(file);
        Files.write(file, JsonMapper.shared().writeValueAsBytes(settings.put(field, CONTEXT)));
    }

    /** @return its digest; empty if the model has no such file */
    private static String serve(Path file, Path served) throws IOException {
        if (Files.notExists(file)) {
            return "";
        }
        try {
            byte[] content = Files.readAllBytes(file);
            String digest = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
            Files.write(served.resolve(digest), content);
            return digest;
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
