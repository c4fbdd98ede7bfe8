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
import org.jspecify.annotations.Nullable;
import org.springframework.core.io.Resource;

/**
 * A model as the fleet knows it: the digests that make its revision, and the few files, of a folder in Hugging Face's
 * layout, that routers may fetch by digest. Reads every byte once when it is made, of weights only where no digest is
 * kept.
 */
public final class ModelFiles {

    private static final String CONFIG = "config.json";
    private static final String TOKENIZER = "tokenizer.json";
    private static final String TOKENIZER_CONFIG = "tokenizer_config.json";
    private static final String CHAT_TEMPLATE = "chat_template.jinja";
    private static final String GENERATION_CONFIG = "generation_config.json";
    /** Files that routers may fetch, if the model has them. */
    public static final List<String> LISTED = List.of(CONFIG, TOKENIZER, TOKENIZER_CONFIG, CHAT_TEMPLATE,
            GENERATION_CONFIG);

    /** Of weights that are served as they lie. */
    public static final String UNCHANGED = "";

    private final ModelDescription description;
    private final Map<String, Resource> fileByDigest = new TreeMap<>();

    private ModelFiles(String weights, long createdSeconds, Map<String, Resource> files, String name,
            HashSettings hash, int contextLength, int vocabularySize) throws IOException {
        var parts = new RevisionParts(weights, listed(files.get(CONFIG)),
                listed(files.get(TOKENIZER)), listed(files.get(TOKENIZER_CONFIG)),
                listed(files.get(GENERATION_CONFIG)), hash.algorithm(), hash.seed(), hash.blockSize(), contextLength,
                listed(files.get(CHAT_TEMPLATE)));
        description = new ModelDescription(name, parts.revision(), parts, createdSeconds, vocabularySize);
    }

    /**
     * Reads a model.
     *
     * @param weights        its files of weights, at least one, in an order that does not change
     * @param change         what becomes of weights while they are loaded, a word, or {@link #UNCHANGED}
     * @param files          by name, those of {@link #LISTED} that it has
     * @param digests        where digests of weights are kept from start to start; null: nowhere
     * @param name           what clients write as {@code model}
     * @param contextLength  most tokens of prompt and answer together
     * @param vocabularySize token ids run from 0 to this less one
     * @throws IOException if a file cannot be read, or a listed one is too large for routers
     */
    public static ModelFiles read(List<Path> weights, String change, Map<String, Resource> files,
            @Nullable Path digests, String name, HashSettings hash, int contextLength, int vocabularySize)
            throws IOException {
        return new ModelFiles(changed(digestOfAll(weights, new KeptDigests(digests)), change),
                lastModifiedSeconds(weights), files, name, hash, contextLength, vocabularySize);
    }

    /**
     * A model whose weights are somewhere else.
     *
     * @param weights what is known of them; the other parameters are as of {@link #read}
     * @throws IOException if a file cannot be read, or is too large for routers
     */
    public static ModelFiles of(List<String> weights, Map<String, Resource> files, String name, HashSettings hash,
            int contextLength, int vocabularySize) throws IOException {
        String digest = HexFormat.of().formatHex(KeptDigests.sha256()
                .digest(String.join("\n", weights).getBytes(StandardCharsets.UTF_8)));
        return new ModelFiles(digest, /* createdSeconds */ 0, files, name, hash, contextLength, vocabularySize);
    }

    /**
     * What this worker registers. {@code createdSeconds} is the latest modification time of a weights file: clients are
     * shown it, and nothing is decided by it.
     */
    public ModelDescription description() {
        return description;
    }

    /** The listed file with this digest, or null. Weights are never listed. */
    @Nullable Resource file(String sha256) {
        return fileByDigest.get(sha256);
    }

    /** Digest of a file that routers may fetch; the empty string if the model lacks it. */
    private String listed(@Nullable Resource file) throws IOException {
        if (file == null) {
            return "";
        }
        if (file.contentLength() > Protocol.MAX_FILE_BYTES) {
            throw new IOException(file.getDescription() + " has " + file.contentLength() + " bytes, routers take "
                    + Protocol.MAX_FILE_BYTES);
        }
        String digest = KeptDigests.digest(file.getInputStream());
        fileByDigest.put(digest, file);
        return digest;
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

    /** Weights that are changed while they are loaded give other answers: to the fleet, they are other weights. */
    private static String changed(String digest, String change) {
        return change.equals(UNCHANGED) ? digest : HexFormat.of().formatHex(KeptDigests.sha256()
                .digest((digest + ' ' + change).getBytes(StandardCharsets.US_ASCII)));
    }

    private static long lastModifiedSeconds(List<Path> files) throws IOException {
        long latest = 0;
        for (Path file : files) {
            latest = Math.max(latest, Files.getLastModifiedTime(file).toInstant().getEpochSecond());
        }
        return latest;
    }
}
