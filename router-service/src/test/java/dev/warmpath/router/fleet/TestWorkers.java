package dev.warmpath.router.fleet;

import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.fleet.RevisionParts;
import dev.warmpath.tokenization.ModelFiles;
import dev.warmpath.tokenization.ModelTokenizer;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.time.Instant;
import java.util.Objects;

/** Registrations as workers send them, and a real tokenizer to go with them. */
public final class TestWorkers {

    public static final String SHA_A = "a".repeat(64);
    public static final String SHA_B = "b".repeat(64);
    /** Of a fleet with a token, on 1970-01-02. */
    public static final RegistrationCheck CHECK =
            new RegistrationCheck(false, () -> Instant.ofEpochSecond(86_400));
    public static final RevisionParts PARTS = parts(SHA_A);
    public static final ModelDescription MODEL = model("tiny", PARTS, 1_000);
    public static final ModelTokenizer TOKENIZER = new ModelTokenizer(
            new ModelFiles(resource("byte-level.json"), resource("tokenizer_config.json"), null, null));

    private TestWorkers() {}

    /** Block size 16. */
    public static RevisionParts parts(String weights) {
        return new RevisionParts(weights, SHA_A, SHA_A, SHA_A, "", "sha256_cbor", "0", 16, 2_048);
    }

    public static ModelDescription model(String name, RevisionParts parts, long createdSeconds) {
        return new ModelDescription(name, parts.revision(), parts, createdSeconds, 512);
    }

    /** 1,000 blocks, 8 sequences. */
    public static Registration registration(String id, long epoch, ModelDescription model) {
        return new Registration(Protocol.VERSION, id, epoch, URI.create("http://127.0.0.1:9"), model,
                1_000, 8, true);
    }

    public static Registration registration(String id, long epoch) {
        return registration(id, epoch, MODEL);
    }

    public static Heartbeat idle(String id, long epoch) {
        return new Heartbeat(id, epoch, 0, 0, 1_000, 0, 0, 0, 0);
    }

    public static byte[] resource(String name) {
        try (InputStream in = Objects.requireNonNull(TestWorkers.class.getResourceAsStream("/tokenizers/" + name))) {
            return in.readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
