package dev.warmpath.worker.model.source;

import dev.warmpath.worker.model.weights.GgufFile;
import dev.warmpath.worker.model.weights.GgufMetadata;
import dev.warmpath.worker.model.weights.WeightFile;
import dev.warmpath.worker.model.weights.WeightFileException;
import dev.warmpath.worker.model.weights.WeightTensor;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A GGUF file, or several into which one was split, read as the folder that it was made from. The small files of such a
 * folder are made at once and kept; the tensors are opened when they are asked for. What cannot be made is told to
 * whoever asks for it, so that one fault does not hide another.
 */
final class GgufModel implements ModelSource {

    private static final String SUFFIX = ".gguf";
    private static final String SHARD_COUNT = "split.count";
    private static final String SHARD_INDEX = "split.no";
    private static final String TENSOR_COUNT = "split.tensors.count";
    private static final int MAX_SHARDS = 1_000;
    /** As llama.cpp's gguf-split names them. */
    private static final Pattern SHARD = Pattern.compile("(.+)-(\\d{5})-of-(\\d{5})\\.gguf");

    private final Path given;
    private final List<Path> weightFiles;
    /** Null if there is no configuration. */
    private final @Nullable TensorNames names;
    private final Map<String, ModelFile.Made> files = new HashMap<>();
    /** Of files that cannot be made, by name. */
    private final Map<String, WeightFileException> faults = new HashMap<>();

    private GgufModel(Path given) throws IOException {
        this.given = given;
        List<GgufFile> opened = openAll(given);
        try {
            GgufMetadata metadata = opened.getFirst().metadata();
            weightFiles = opened.stream().map(GgufFile::path).toList();
            var tensors = new ArrayList<WeightTensor>();
            opened.forEach(file -> tensors.addAll(file.tensors()));
            GgufConfig config = attempt(() -> new GgufConfig(metadata, tensors), CONFIG, TOKENIZER_CONFIG);
            GgufTokenizer tokenizer = attempt(() -> tokenizer(metadata, config), TOKENIZER, TOKENIZER_CONFIG,
                    GENERATION_CONFIG);
            names = config == null ? null : config.tensorNames();
            if (config != null) {
                make(CONFIG, config::bytes);
            }
            if (tokenizer != null) {
                make(TOKENIZER, tokenizer::tokenizer);
                make(GENERATION_CONFIG, tokenizer::generationConfig);
            }
            if (config != null && tokenizer != null) {
                make(TOKENIZER_CONFIG, () -> tokenizer.tokenizerConfig(config.contextLength()));
            }
        } finally {
            opened.forEach(GgufFile::close);
        }
    }

    private static GgufTokenizer tokenizer(GgufMetadata metadata, @Nullable GgufConfig config) {
        var tokenizer = new GgufTokenizer(metadata);
        if (config != null) {
            tokenizer.requireWithin(config.vocabularySize());
        }
        return tokenizer;
    }

    /** @param files that cannot be made if this cannot. @return null if so */
    private <T> @Nullable T attempt(Supplier<T> step, String... files) {
        try {
            return step.get();
        } catch (WeightFileException e) {
            for (String name : files) {
                faults.putIfAbsent(name, e);
            }
            return null;
        }
    }

    private void make(String name, Supplier<byte[]> content) {
        byte[] bytes = attempt(content, name);
        if (bytes != null) {
            files.put(name, new ModelFile.Made(bytes));
        }
    }

    private void requireMade(String name) {
        WeightFileException fault = faults.get(name);
        if (fault != null) {
            throw fault;
        }
    }

    @Override
    public long bytesOnHeap() {
        return files.values().stream().mapToLong(file -> file.bytes().length).sum();
    }

    static GgufModel open(Path file) throws IOException {
        return new GgufModel(file);
    }

    static boolean isNamedSo(Path path) {
        return path.getFileName() != null && isNamedSo(path.getFileName().toString());
    }

    private static boolean isNamedSo(String name) {
        return name.toLowerCase(Locale.ROOT).endsWith(SUFFIX);
    }

    /**
     * The one GGUF model of a folder.
     * @throws IOException if there is none, or several
     */
    static Path within(Path folder) throws IOException {
        List<String> models = ModelFolder.matching(folder, "*").stream().filter(GgufModel::isNamedSo)
                .filter(name -> !isLaterShard(name)).toList();
        if (models.size() != 1) {
            throw new FileSystemException(folder.toString(), null, models.isEmpty()
                    ? "has no *.safetensors file and no *.gguf file"
                    : "has %d GGUF models and no *.safetensors file; name one of %s".formatted(models.size(), models));
        }
        real(folder, models.getFirst());                         // no link leads out of here
        return folder.resolve(models.getFirst());
    }

    private static boolean isLaterShard(String name) {
        Matcher shard = SHARD.matcher(name);
        return shard.matches() && !shard.group(2).equals("00001");
    }

    private static Path real(Path folder, String name) throws IOException {
        Path file = ModelFolder.real(folder, folder.toRealPath(), name);
        if (file == null) {
            throw new NoSuchFileException(folder.resolve(name).toString());
        }
        return file;
    }

    /** In their order; whoever gets them closes them. */
    private static List<GgufFile> openAll(Path given) throws IOException {
        List<GgufFile> opened = new ArrayList<>();
        try {
            opened.add(GgufFile.open(ModelFolder.regular(given, given.toRealPath())));
            GgufMetadata first = opened.getFirst().metadata();
            int count = first.count(SHARD_COUNT, 1);
            if (count > 1) {
                openOthers(given.toAbsolutePath(), count, opened);
            }
            return opened;
        } catch (IOException | RuntimeException e) {
            opened.forEach(GgufFile::close);
            throw e;
        }
    }

    private static void openOthers(Path given, int count, List<GgufFile> opened) throws IOException {
        GgufMetadata first = opened.getFirst().metadata();
        Matcher shard = SHARD.matcher(given.getFileName().toString());
        if (count > MAX_SHARDS || !shard.matches() || !shard.group(2).equals("00001")
                || Integer.parseInt(shard.group(3)) != count) {
            throw first.refused(SHARD_COUNT, "is %d: the first of so many, up to %d, is named …-00001-of-%05d.gguf"
                    .formatted(count, MAX_SHARDS, count));
        }
        int tensors = opened.getFirst().tensors().size();
        for (int i = 1; i < count; i++) {
            var file = GgufFile.open(real(given.getParent(), "%s-%05d-of-%05d.gguf".formatted(shard.group(1), i + 1,
                    count)));
            opened.add(file);
            if (file.metadata().count(SHARD_INDEX) != i || file.metadata().count(SHARD_COUNT) != count) {
                throw file.metadata().refused(SHARD_INDEX, "is not %d of %d".formatted(i, count));
            }
            tensors += file.tensors().size();
        }
        if (tensors != first.count(TENSOR_COUNT)) {
            throw first.refused(TENSOR_COUNT, "is %d, but there are %d in all".formatted(first.count(TENSOR_COUNT),
                    tensors));
        }
    }

    @Override
    public Path path() {
        return given;
    }

    @Override
    public List<Path> weightFiles() {
        return weightFiles;
    }

    @Override
    public List<WeightFile> openWeights() throws IOException {
        requireMade(CONFIG);
        return openAll(given).stream().<WeightFile>map(file -> new Renamed(file, names.of(file.tensors()))).toList();
    }

    @Override
    public @Nullable ModelFile file(String name) {
        requireMade(name);
        return files.get(name);
    }

    /** A GGUF file whose tensors have Hugging Face's names and order of rows. */
    private record Renamed(GgufFile file, List<WeightTensor> tensors) implements WeightFile {
        @Override
        public Path path() {
            return file.path();
        }

        @Override
        public void close() {
            file.close();
        }
    }
}
