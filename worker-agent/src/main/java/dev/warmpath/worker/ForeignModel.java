package dev.warmpath.worker;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.tokenization.ModelTokenizer;
import dev.warmpath.tokenization.Spelling;
import dev.warmpath.tokenization.TokenizationException;
import dev.warmpath.worker.foreign.generate.EngineFacts;
import dev.warmpath.worker.model.source.ModelFile;
import dev.warmpath.worker.model.source.ModelSource;
import dev.warmpath.worker.routerlink.ModelFiles;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The model of an engine that is not this worker's own. Its files of text come from a folder, or a GGUF file, for
 * routers tokenize by them; its weights are the engine's, which are known by what it calls them and by names and sizes
 * of files that lie there, and never read.
 */
final class ForeignModel {

    private static final byte[] NO_SETTINGS = "{}".getBytes(StandardCharsets.UTF_8);

    private ForeignModel() {}

    /**
     * @throws SettingsException if the folder is not the engine's model, or not one at all
     * @throws IOException       if a file cannot be read
     */
    static ModelFiles read(ModelProperties model, KvProperties kv, EngineFacts engine) throws IOException {
        ModelSource source = ModelSource.ofText(model.directory());
        int vocabulary = vocabularySize(source);
        String name = model.name() != null && !model.name().isBlank() ? model.name() : engine.model();
        return ModelFiles.of(weights(source, engine), ModelFileResources.of(source), name, hashSettings(kv, engine),
                contextLength(model, engine), vocabulary);
    }

    /**
     * Text and ids by the model's own tokenizer.
     * @throws SettingsException if its files give none
     */
    static Spelling spelling(ModelProperties model) {
        try {
            ModelSource source = ModelSource.ofText(model.directory());
            byte[] tokenizer = bytes(source, ModelSource.TOKENIZER);
            if (tokenizer == null) {
                throw new SettingsException(source.path() + " has no " + ModelSource.TOKENIZER + ", and the engine "
                        + "takes and gives text only", "Give the folder from which the engine was started");
            }
            byte[] config = bytes(source, ModelSource.TOKENIZER_CONFIG);
            return new Spelling(new ModelTokenizer(new dev.warmpath.tokenization.ModelFiles(tokenizer,
                    config == null ? NO_SETTINGS : config, bytes(source, ModelSource.CHAT_TEMPLATE),
                    bytes(source, ModelSource.GENERATION_CONFIG), bytes(source, ModelSource.CONFIG))));
        } catch (IOException | TokenizationException e) {
            throw new SettingsException("the engine takes and gives text only, and the tokenizer in "
                    + model.directory() + " cannot be read: " + e.getMessage(), "Download it once more");
        }
    }

    private static byte @Nullable [] bytes(ModelSource source, String name) throws IOException {
        ModelFile file = source.file(name);
        return file == null ? null : file.content();
    }

    /** Blocks are the engine's, if it tells of them. */
    static HashSettings hashSettings(KvProperties kv, EngineFacts engine) {
        int blockSize = engine.cache() == null ? kv.blockSize() : engine.cache().blockSize();
        if (blockSize > HashSettings.MAX_BLOCK_SIZE) {
            throw new SettingsException("the engine's blocks have " + blockSize + " tokens, and routers take at most "
                    + HashSettings.MAX_BLOCK_SIZE, "Start it with a smaller --block-size");
        }
        return new HashSettings(HashSettings.SHA256_CBOR, kv.hashSeed(), blockSize);
    }

    private static int contextLength(ModelProperties model, EngineFacts engine) {
        Integer cap = model.contextLength();
        if (engine.contextLength() == 0 && cap == null) {
            throw new SettingsException("the engine does not say how long its context is",
                    "Set warmpath.model.context-length to what it was started with");
        }
        if (cap != null && engine.contextLength() != 0 && cap > engine.contextLength()) {
            throw new SettingsException("warmpath.model.context-length is " + cap + ", but the engine serves "
                    + engine.contextLength() + " tokens", "Lower it, or leave it out to serve all of them");
        }
        return cap == null ? engine.contextLength() : cap;
    }

    private static int vocabularySize(ModelSource source) throws IOException {
        ModelFile config = source.file(ModelSource.CONFIG);
        ModelFile tokenizer = source.file(ModelSource.TOKENIZER);
        if (config == null || tokenizer == null) {
            throw new SettingsException(source.path() + " has no " + (config == null ? ModelSource.CONFIG
                    : ModelSource.TOKENIZER) + ": routers tokenize by the files of the engine's model",
                    "Give the folder from which the engine was started; weights need not lie in it");
        }
        try {
            JsonNode root = JsonMapper.shared().readTree(config.content());
            int size = root.path("vocab_size").asInt(root.path("text_config").path("vocab_size").asInt(0));
            if (size > 0) {
                return size;
            }
        } catch (JacksonException e) {
            throw new SettingsException(source.path() + ": " + ModelSource.CONFIG + " is not JSON: "
                    + e.getOriginalMessage(), "Download it once more");
        }
        throw new SettingsException(source.path() + ": " + ModelSource.CONFIG + " has no vocab_size",
                "Give the folder from which the engine was started");
    }

    private static List<String> weights(ModelSource source, EngineFacts engine) throws IOException {
        List<String> facts = new ArrayList<>(List.of(engine.root() == null ? engine.model() : engine.root()));
        for (Path file : source.weightFiles()) {
            facts.add(file.getFileName() + " " + Files.size(file));
        }
        return facts;
    }
}
