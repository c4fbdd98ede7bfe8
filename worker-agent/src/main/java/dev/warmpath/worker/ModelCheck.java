package dev.warmpath.worker;

import static dev.warmpath.worker.model.source.ModelSource.CHAT_TEMPLATE;
import static dev.warmpath.worker.model.source.ModelSource.CONFIG;
import static dev.warmpath.worker.model.source.ModelSource.GENERATION_CONFIG;
import static dev.warmpath.worker.model.source.ModelSource.TOKENIZER;
import static dev.warmpath.worker.model.source.ModelSource.TOKENIZER_CONFIG;

import dev.warmpath.worker.model.EosTokens;
import dev.warmpath.worker.model.ModelConfig;
import dev.warmpath.worker.model.UnsupportedModelException;
import dev.warmpath.worker.model.source.ModelFile;
import dev.warmpath.worker.model.source.ModelSource;
import dev.warmpath.worker.model.weights.WeightFileException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * What a model has and lacks: everything that can be told without its weights' values, all at once. Most who read one
 * of these sentences have fetched half of a model, or another layout of it, or have given its name.
 *
 * @param problems each keeps the model from being served
 * @param warnings a sentence each, of what does not
 * @param config   null if there is none that can be served
 * @param source   null if it cannot be opened
 */
record ModelCheck(List<Problem> problems, List<String> warnings, @Nullable ModelConfig config,
        @Nullable ModelSource source) {

    private static final Pattern HUB_ID = Pattern.compile("[A-Za-z0-9][\\w.-]*/[A-Za-z0-9][\\w.-]*");
    private static final Pattern GGUF = Pattern.compile("(?i).+\\.gguf");
    private static final Pattern SAFETENSORS = Pattern.compile(".+\\.safetensors");
    private static final String TEMPLATE = "chat_template";
    /** Of a file that ends where it should not. */
    static final String BROKEN_OFF = "If a download has broken off, fetch the file again";
    private static final Pattern PARTS = Pattern.compile("tokenizer\\.json|.+\\.safetensors");
    private static final int SEARCHED_DEPTH = 3;
    private static final int MOST_SEARCHED = 1_000;
    private static final String LAYOUT =
            "a folder in Hugging Face's layout: config.json, tokenizer.json, tokenizer_config.json and *.safetensors";
    private static final String SAVE =
            "such as by transformers: AutoTokenizer.from_pretrained(folder).save_pretrained(folder)";

    /** Looks at what a path names; nothing is thrown, whatever is there. */
    static ModelCheck of(Path model) {
        List<Problem> problems = new ArrayList<>();
        try {
            if (Files.isDirectory(model)) {
                return ofFolder(FolderCheck.of(model, problems));
            }
            if (Files.exists(model) && GGUF.matcher(model.toString()).matches()) {
                return ofGguf(model, problems);
            }
            problems.add(noFolder(model));
        } catch (IOException e) {
            problems.add(new Problem("%s cannot be read: %s".formatted(model, e), "Let this user read it"));
        }
        return new ModelCheck(problems, List.of(), null, null);
    }

    private static ModelCheck ofFolder(FolderCheck folder) throws IOException {
        if (folder.like(SAFETENSORS).isEmpty() && !folder.like(GGUF).isEmpty()) {
            return ofGguf(folder.path(), folder.problems());
        }
        if (!folder.names().contains(CONFIG)) {
            Problem other = otherLayout(folder);
            if (other != null) {
                folder.problems().add(other);
                return new ModelCheck(folder.problems(), List.of(), null, null);
            }
        }
        folder.requireLinksWithin();
        ModelConfig config = config(folder);
        requireTokenizer(folder);
        List<String> warnings = templateWarnings(folder);
        folder.requireJsonIfThere(GENERATION_CONFIG);
        WeightsCheck.requireAll(folder);
        return withSource(folder.path(), folder.problems(), warnings, config);
    }

    private static ModelCheck ofGguf(Path model, List<Problem> problems) {
        ModelSource source = attempt(problems, () -> ModelSource.of(model));
        if (source == null) {
            return new ModelCheck(problems, List.of(), null, null);
        }
        ModelConfig config = attempt(problems, () -> ModelConfig.read(source));
        attempt(problems, () -> source.file(TOKENIZER));
        JsonNode settings = attempt(problems, () -> {
            ModelFile file = source.file(TOKENIZER_CONFIG);
            return file == null ? null : JsonMapper.shared().readTree(file.content());
        });
        List<String> warnings = settings == null || settings.hasNonNull(TEMPLATE) ? List.of()
                : List.of(noChat(model, "it has no tokenizer.chat_template"));
        return withEndTokens(source, problems, warnings, config);
    }

    /** Opens what looks well so far, which finds the rest. */
    private static ModelCheck withSource(Path model, List<Problem> problems, List<String> warnings,
            @Nullable ModelConfig config) {
        ModelSource source = problems.isEmpty() ? attempt(problems, () -> ModelSource.of(model)) : null;
        return source == null ? new ModelCheck(problems, warnings, config, null)
                : withEndTokens(source, problems, warnings, config);
    }

    private static ModelCheck withEndTokens(ModelSource source, List<Problem> problems, List<String> warnings,
            @Nullable ModelConfig config) {
        try {
            attempt(problems, () -> EosTokens.read(source));
        } catch (JacksonException e) {
            problems.add(new Problem("the files that name the end of an answer are not JSON: "
                    + FolderCheck.withoutPlace(e.getOriginalMessage()), ""));
        }
        return new ModelCheck(problems, warnings, config, source);
    }

    /**
     * What several files of a GGUF file lack is told once.
     * @return null if the step has failed, which is a problem then
     */
    private static <T> @Nullable T attempt(List<Problem> problems, Preflight.Step<T> step) {
        Problem problem;
        try {
            return step.take();
        } catch (WeightFileException e) {
            problem = new Problem(e.getMessage(), BROKEN_OFF);
        } catch (UnsupportedModelException e) {
            problem = new Problem(e.getMessage(), "");
        } catch (IOException e) {
            problem = new Problem(said(e), "");
        }
        if (!problems.contains(problem)) {
            problems.add(problem);
        }
        return null;
    }

    /** What a file system says of a file, in a clause. */
    static String said(IOException e) {
        return e instanceof NoSuchFileException missing
                ? "there is no " + missing.getFile()
                        + (missing.getReason() == null ? "" : ", but " + missing.getReason())
                : e instanceof FileSystemException ? e.getMessage() : e.toString();
    }

    // ---- what the path names

    private static Problem noFolder(Path model) {
        if (Files.exists(model)) {
            Path folder = model.toAbsolutePath().getParent();
            return new Problem("%s is a file, and a model is %s".formatted(model, LAYOUT),
                    Files.exists(folder.resolve(CONFIG)) ? "Give " + folder : "Give such a folder");
        }
        if (Files.isSymbolicLink(model)) {
            return new Problem("%s is a link to something that is not there".formatted(model),
                    "Give the model's folder");
        }
        if (HUB_ID.matcher(model.toString()).matches()) {
            return new Problem("there is no folder " + model + "; if it is a model's name on the Hugging Face hub: "
                    + "nothing is fetched from there", "Fetch it, such as by 'hf download " + model + " --local-dir "
                    + model.getFileName() + "', and give that folder");
        }
        return new Problem("there is no folder " + model, "Give the model's, " + LAYOUT);
    }

    /** What lies there in place of a model of this layout, if that can be told: then nothing else need be said. */
    private static @Nullable Problem otherLayout(FolderCheck folder) throws IOException {
        Path path = folder.path();
        List<String> inside = modelsInside(path);
        if (folder.has("adapter_config.json")) {
            return new Problem("%s holds an adapter (LoRA), not a model".formatted(path),
                    "Merge it into its base model, and give the folder of the result");
        }
        if (!inside.isEmpty()) {
            return new Problem("%s has no config.json; there is one in %s".formatted(path, FolderCheck.listed(inside)),
                    "Give that folder");
        }
        if (folder.has("params.json")) {
            return new Problem("%s holds a model in its maker's layout (params.json)".formatted(path),
                    "Take it as " + LAYOUT);
        }
        return folder.like(PARTS).isEmpty()
                ? new Problem("%s holds no model".formatted(path), "Give the model's, " + LAYOUT) : null;
    }

    /** Folders below with a model, such as a snapshot in the cache of Hugging Face's own programs. */
    private static List<String> modelsInside(Path path) throws IOException {
        try (Stream<Path> files = Files.find(path, SEARCHED_DEPTH, (file, _) -> true)) {
            return files.limit(MOST_SEARCHED).filter(file -> file.endsWith(CONFIG))
                    .map(file -> file.getParent().toString()).sorted().toList();
        } catch (UncheckedIOException closedFolder) {
            return List.of();
        }
    }

    // ---- its files

    private static @Nullable ModelConfig config(FolderCheck folder) {
        if (!folder.has(CONFIG)) {
            folder.addMissing(CONFIG, "");
            return null;
        }
        if (folder.isPointer(CONFIG)) {
            folder.addPointers(List.of(CONFIG));
            return null;
        }
        try {
            return folder.readable(CONFIG, ModelConfig::read);
        } catch (UnsupportedModelException e) {
            folder.add(FolderCheck.withoutPlace(e.getMessage()), "");
            return null;
        }
    }

    private static void requireTokenizer(FolderCheck folder) {
        if (folder.has(TOKENIZER)) {
            folder.requireJsonObject(TOKENIZER);
        } else if (folder.has("tokenizer.model")) {
            folder.addMissing(TOKENIZER, "There is a tokenizer.model: convert it, " + SAVE);
        } else if (folder.has("vocab.json") && folder.has("merges.txt")) {
            folder.addMissing(TOKENIZER, "There are vocab.json and merges.txt: convert them, " + SAVE);
        } else {
            folder.addMissing(TOKENIZER, "Fetch it, too");
        }
    }

    private static List<String> templateWarnings(FolderCheck folder) {
        JsonNode settings = folder.has(TOKENIZER_CONFIG) ? folder.json(TOKENIZER_CONFIG) : null;
        if (folder.has(CHAT_TEMPLATE)) {
            folder.requireText(CHAT_TEMPLATE);
            return List.of();
        }
        if (folder.has(TOKENIZER_CONFIG) && (settings == null || settings.hasNonNull(TEMPLATE))) {
            return List.of();
        }
        return List.of(noChat(folder.path(), folder.has("chat_template.json") ? "chat_template.json is not read"
                : folder.has(TOKENIZER_CONFIG) ? "tokenizer_config.json has no chat_template"
                : "there is no tokenizer_config.json"));
    }

    private static String noChat(Path model, String why) {
        return "%s: %s, so chat is answered with an error; completions work".formatted(model, why);
    }
}
