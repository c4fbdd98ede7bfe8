package dev.warmpath.worker.routerlink;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.RevisionParts;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A model directory in the Hugging Face layout as the fleet knows it: the digests that make its revision, and the few
 * files that routers may fetch by digest. Reads every byte once when it is made, of weights only where no digest is kept.
 */
public final class ModelFiles {

    private static final String CONFIG = "config.json";
    private static final String TOKENIZER = "tokenizer.json";
    private static final String TOKENIZER_CONFIG = "tokenizer_config.json";
    private static final String GENERATION_CONFIG = "generation_config.json";
    private static final String WEIGHTS_SUFFIX = ".safetensors";

    private final ModelDescription description;
    private final Map<String, Path> pathByDigest = new TreeMap<>();

    private ModelFiles(Path directory, KeptDigests kept, String name, HashSettings hash, int contextLength,
            int vocabularySize) throws IOException {
        List<Path> weights = weightFiles(directory);
        var parts = new RevisionParts(digestOfAll(weights, kept), listed(directory.resolve(CONFIG)),
                listed(directory.resolve(TOKENIZER)), listed(directory.resolve(TOKENIZER_CONFIG)),
                listed(directory.resolve(GENERATION_CONFIG)), hash.algorithm(), hash.seed(), hash.blockSize(),
                contextLength);
        description =
                new ModelDescription(name, parts.revision(), parts, lastModifiedSeconds(weights), vocabularySize);
    }

    /**
     * Reads a model directory.
     *
     * @param digests        where digests of weights are kept from start to start; null: nowhere
     * @param name           what clients write as {@code model}
     * @param contextLength  most tokens of prompt and answer together
     * @param vocabularySize token ids run from 0 to this less one
     * @throws IOException if a file cannot be read, or there is no {@code *.safetensors} among them
     */
    public static ModelFiles read(Path directory, @Nullable Path digests, String name, HashSettings hash,
            int contextLength, int vocabularySize) throws IOException {
        return new ModelFiles(directory, new KeptDigests(digests), name, hash, contextLength, vocabularySize);
    }

    /**
     * What this worker registers. {@code createdSeconds} is the latest modification time of a weights file: clients are
     * shown it, and nothing is decided by it.
     */
    public ModelDescription description() {
        return description;
    }

    /** The listed file with this digest, or null. Weights are never listed. */
    @Nullable Path path(String sha256) {
        return pathByDigest.get(sha256);
    }

    /** Digest of a file that routers may fetch; the empty string if the model lacks it. */
    private String listed(Path file) throws IOException {
        if (!Files.exists(file)) {
            return "";
        }
        String digest = KeptDigests.digest(file);
        if (Files.size(file) > Protocol.MAX_FILE_BYTES) {
            throw new IOException(file + " has " + Files.size(file) + " bytes, routers take "
                    + Protocol.MAX_FILE_BYTES);
        }
        pathByDigest.put(digest, file);
        return digest;
    }

    private static List<Path> weightFiles(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            List<Path> weights = files.filter(file -> file.toString().endsWith(WEIGHTS_SUFFIX)).sorted().toList();
            if (weights.isEmpty()) {
                throw new IOException(directory + " has no *" + WEIGHTS_SUFFIX + " file");
            }
            return weights;
        }
    }

    /** One file: its digest. Several: the digest of their digests, in order of their names. */
    private static String digestOfAll(List<Path> files, KeptDigests kept) throws IOException {
        if (files.size() == 1) {
            return kept.of(files.getFirst());
        }
        MessageDigest all = KeptDigests.sha256();
        for (Path file : files) {
            all.update(kept.of(file).getBytes(StandardCharsets.US_ASCII));
        }
        return HexFormat.of().formatHex(all.digest());
    }

    private static long lastModifiedSeconds(List<Path> files) throws IOException {
        long latest = 0;
        for (Path file : files) {
            latest = Math.max(latest, Files.getLastModifiedTime(file).toInstant().getEpochSecond());
        }
        return latest;
    }
}
