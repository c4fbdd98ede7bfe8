package dev.warmpath.tokenization;

import dev.warmpath.protocol.fleet.Protocol;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Tells whether a router could tokenize for a model, with none running.
 *
 * <pre>
 * check FOLDER [MODEL]
 * </pre>
 * The files may have been made of something else that people know the model by, a GGUF file. What is wrong is a line
 * with {@code - } before it, what one should know one with {@code warning: }. Of files that are missing, or no JSON, a
 * worker's check tells.
 */
public final class CheckCommand {

    public static final String NAME = "check";
    private static final byte[] EMPTY_JSON = "{}".getBytes(StandardCharsets.UTF_8);
    private static final int COULD = 0;
    private static final int COULD_NOT = 1;
    private static final int WRONG_ARGUMENTS = 2;

    private CheckCommand() {}

    /**
     * @param arguments what follows the command's name
     * @return exit status: 0 it could, 1 it could not, 2 the arguments are wrong
     */
    public static int run(List<String> arguments, PrintStream out, PrintStream err) {
        if (arguments.isEmpty() || arguments.size() > 2) {
            err.println("check takes a model's folder, and maybe the model of which its files were made");
            return WRONG_ARGUMENTS;
        }
        Path folder = Path.of(arguments.getFirst());
        String model = arguments.getLast();
        try {
            byte[] tokenizer = json(folder.resolve("tokenizer.json"));
            if (tokenizer != null) {
                byte[] settings = json(folder.resolve("tokenizer_config.json"));
                new ModelTokenizer(new ModelFiles(tokenizer, settings == null ? EMPTY_JSON : settings,
                        read(folder.resolve("chat_template.jinja")), json(folder.resolve("generation_config.json")),
                        json(folder.resolve("config.json")))).chatTemplateFaults().forEach((name, fault) -> out.println(
                                "warning: %s: its chat template '%s' cannot be read, so chat is answered with an "
                                        .formatted(model, name) + "error; completions work: " + fault));
            }
            return COULD;
        } catch (RuntimeException e) {
            out.println("- " + model + ": " + e.getMessage());
            return COULD_NOT;
        } catch (IOException e) {
            out.println("- a file of " + model + " cannot be read: " + e);
            return COULD_NOT;
        }
    }

    /** @return null if there is no such file, or one that is too long, or a pipe, whose reader would wait for ever */
    private static byte @Nullable [] read(Path file) throws IOException {
        return Files.isRegularFile(file) && Files.size(file) <= Protocol.MAX_FILE_BYTES
                ? Files.readAllBytes(file) : null;
    }

    /** @return null also if it is no JSON */
    private static byte @Nullable [] json(Path file) throws IOException {
        byte[] bytes = read(file);
        try {
            if (bytes != null) {
                TokenizerJson.parse(file.toString(), bytes);
            }
            return bytes;
        } catch (TokenizationException e) {
            return null;
        }
    }
}
