package dev.warmpath.benchmarks.gateway;

import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.RevisionParts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
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
    private static final int BLOCK_SIZE = 16;
    /** Long enough for 178 KB of text in a vocabulary of 2,048. */
    private static final int CONTEXT = 131_072;
    /** " the", as byte-level vocabularies write it. */
    private static final String PIECE = "\u0120the";

    /** @param text as a client sees it */
    record Token(int id, String text) {}

    /**
     * Reads a model's folder and puts its files where the mock workers serve them.
     *
     * @param folder with config.json, tokenizer.json, tokenizer_config.json and perhaps generation_config.json
     * @param served gets the files by their digests
     */
    static MockModel read(Path folder, Path served) throws IOException {
        var parts = new RevisionParts("a".repeat(64), serveWithContext(folder, "config.json", "max_position_embeddings", served),
                copy(folder, "tokenizer.json", served),
                serveWithContext(folder, "tokenizer_config.json", "model_max_length", served),
                copy(folder, "generation_config.json", served), "sha256_cbor", "0", BLOCK_SIZE, CONTEXT);
        JsonNode id = json(folder, "tokenizer.json").path("model").path("vocab").path(PIECE);
        if (!id.isInt()) {
            throw new IOException(folder + " has no token for \" the\": another byte-level vocabulary is needed");
        }
        int vocabulary = json(folder, "config.json").path("vocab_size").asInt();
        return new MockModel(new ModelDescription(NAME, parts.revision(), parts, 1, vocabulary),
                new Token(id.intValue(), " the"));
    }

    private static JsonNode json(Path folder, String name) throws IOException {
        return JsonMapper.shared().readTree(Files.readAllBytes(folder.resolve(name)));
    }

    /** The router holds what workers say of their context against these files. */
    private static String serveWithContext(Path folder, String name, String field, Path served) throws IOException {
        var settings = (ObjectNode) json(folder, name);
        return serve(JsonMapper.shared().writeValueAsBytes(settings.put(field, CONTEXT)), served);
    }

    private static String copy(Path folder, String name, Path served) throws IOException {
        Path file = folder.resolve(name);
        return Files.exists(file) ? serve(Files.readAllBytes(file), served) : "";
    }

    private static String serve(byte[] content, Path served) throws IOException {
        try {
            String digest = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
            Files.write(served.resolve(digest), content);
            return digest;
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
