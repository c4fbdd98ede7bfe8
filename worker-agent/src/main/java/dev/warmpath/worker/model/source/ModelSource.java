package dev.warmpath.worker.model.source;

import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.worker.model.weights.WeightFile;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A model where it lies. Whatever it is, it has the files of a folder in Hugging Face's layout. */
public sealed interface ModelSource permits ModelFolder, GgufModel {

    String CONFIG = "config.json";
    String TOKENIZER = "tokenizer.json";
    String TOKENIZER_CONFIG = "tokenizer_config.json";
    String GENERATION_CONFIG = "generation_config.json";
    String CHAT_TEMPLATE = "chat_template.jinja";

    /** Of a file that is no weights, as routers take them: tokenizers have some ten million. */
    int MAX_FILE_BYTES = Protocol.MAX_FILE_BYTES;

    /**
     * @param path a folder, or a GGUF file, of several the first. A folder without {@code *.safetensors} and with one
     *             GGUF model stands for that
     * @throws IOException if it is neither, or a link leads out of the folder
     * @throws dev.warmpath.worker.model.weights.WeightFileException if a GGUF file is broken
     */
    static ModelSource of(Path path) throws IOException {
        if (Files.isDirectory(path)) {
            return ModelFolder.hasSafetensors(path) ? ModelFolder.open(path) : GgufModel.open(GgufModel.within(path));
        }
        if (!GgufModel.isNamedSo(path)) {
            throw new FileSystemException(path.toString(), null,
                    Files.exists(path) ? "is neither a folder nor a .gguf file" : "there is no such model");
        }
        return GgufModel.open(path);
    }

    /**
     * The same where weights are somebody else's: a folder may lack them.
     * @throws IOException as of {@link #of}
     * @throws dev.warmpath.worker.model.weights.WeightFileException likewise
     */
    static ModelSource ofText(Path path) throws IOException {
        return Files.isDirectory(path) && Files.exists(path.resolve(TOKENIZER)) ? ModelFolder.open(path) : of(path);
    }

    /** Entries of a folder that are links which lead out of it, by name: those are not followed. */
    static List<String> linksOut(Path folder) throws IOException {
        return ModelFolder.linksOut(folder);
    }

    /** As it was given. */
    Path path();

    /** Real paths, in order of their names. */
    List<Path> weightFiles();

    /**
     * Maps the files of weights; tensors have Hugging Face's names.
     * @throws IOException if a file cannot be read
     * @throws dev.warmpath.worker.model.weights.WeightFileException if one is broken, or there is no {@link #CONFIG}
     */
    List<WeightFile> openWeights() throws IOException;

    /**
     * One of the small files.
     * @param name one of the constants here
     * @return null if the model lacks it
     * @throws IOException if it is a link that leads out of the folder, no regular file, or too large
     * @throws dev.warmpath.worker.model.weights.WeightFileException if a GGUF file says something that has no
     *         counterpart in Hugging Face's files, or the file would be too large
     */
    @Nullable ModelFile file(String name) throws IOException;

    /** What it keeps on the heap as long as it is there: files that lie nowhere else. */
    default long bytesOnHeap() {
        return 0;
    }
}
