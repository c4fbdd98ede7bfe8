package dev.warmpath.worker;

import dev.warmpath.worker.foreign.generate.EngineLink;
import dev.warmpath.worker.foreign.generate.EngineTrial;
import dev.warmpath.worker.foreign.generate.EngineTrial.Comparison;
import dev.warmpath.worker.foreign.generate.FoundEngine;
import dev.warmpath.worker.foreign.generate.KnownTokens;
import dev.warmpath.worker.model.source.ModelFile;
import dev.warmpath.worker.model.source.ModelSource;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JacksonException;

/**
 * Whether the tokenizer by which routers turn text into ids is the engine's: with another one, prompts would mean
 * something else to the engine, and nothing but wrong answers would tell.
 */
final class ForeignTokenizer {

    private static final Logger log = LoggerFactory.getLogger(ForeignTokenizer.class);

    private ForeignTokenizer() {}

    /**
     * @throws SettingsException if the engine says that some tokens are other ones
     * @throws IOException       if the tokenizer cannot be read
     */
    static void requireSame(EngineLink link, FoundEngine found, Path model) throws IOException, InterruptedException {
        Comparison comparison = compare(link, found, model);
        if (comparison.compared() == 0) {
            log.info("the engine does not tell what its tokens are, so they are not compared with those of {}: {}",
                    model, comparison.silence());
        } else if (comparison.differences().isEmpty()) {
            log.info("{} tokens of {} are the engine's, too", comparison.compared(), model);
        } else {
            throw new SettingsException(differ(comparison, model), REMEDY + ", or set warmpath.engine.compare-tokens "
                    + "to false if you know better");
        }
    }

    static final String REMEDY = "Set warmpath.model.directory to the folder from which the engine was started";

    /** A clause. */
    static String differ(Comparison comparison, Path model) {
        return "the engine has another tokenizer than " + model + ": " + String.join("; ", comparison.differences());
    }

    /** Exceptions as of {@link #requireSame}, but that differences are returned. */
    static Comparison compare(EngineLink link, FoundEngine found, Path model) throws IOException, InterruptedException {
        try (var trial = new EngineTrial(link, found)) {
            return trial.compare(read(model));
        }
    }

    private static KnownTokens read(Path model) throws IOException {
        ModelFile tokenizer = ModelSource.ofText(model).file(ModelSource.TOKENIZER);
        if (tokenizer == null) {
            throw new SettingsException(model + " has no " + ModelSource.TOKENIZER, REMEDY);
        }
        try (InputStream in = switch (tokenizer) {
            case ModelFile.Stored(Path path) -> Files.newInputStream(path);
            case ModelFile.Made(byte[] bytes) -> new ByteArrayInputStream(bytes);
        }) {
            return KnownTokens.read(in);
        } catch (JacksonException e) {
            throw new SettingsException(model + ": " + ModelSource.TOKENIZER + " is not JSON: "
                    + FolderCheck.withoutPlace(e.getOriginalMessage()), "Download it once more");
        }
    }
}
