package dev.warmpath.worker.model.source;

import dev.warmpath.worker.model.weights.SafetensorsFile;
import dev.warmpath.worker.model.weights.ShardIndex;
import dev.warmpath.worker.model.weights.WeightFile;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A model in Hugging Face's layout: config.json, tokenizer.json and so on, and weights as {@code *.safetensors}: all of
 * the folder, or those that {@code model.safetensors.index.json} names.
 *
 * <p>Links are followed within the folder, as volumes of Kubernetes have them, and within Hugging Face's cache, where
 * the files of {@code models--…/snapshots/REVISION} are links into {@code models--…/blobs}; nowhere else: who may put
 * files into the folder shall not read others.
 */
final class ModelFolder implements ModelSource {

    private static final String WEIGHTS_SUFFIX = ".safetensors";
    private static final String WHOLE = "model.safetensors";
    private static final String INDEX = WHOLE + ".index.json";

    private final Path folder;
    private final Path root;
    private final @Nullable ShardIndex index;
    /** By name. */
    private final Map<String, Path> weights = new TreeMap<>();

    private ModelFolder(Path folder) throws IOException {
        this.folder = folder;
        this.root = folder.toRealPath();
        Path indexFile = within(INDEX);
        this.index = indexFile == null ? null : ShardIndex.read(indexFile);
        for (String name : weightNames()) {
            Path file = within(name);
            if (file == null) {
                throw new NoSuchFileException(folder.resolve(name).toString(), null, INDEX + " names it");
            }
            weights.put(name, file);
        }
    }

    static ModelFolder open(Path folder) throws IOException {
        return new ModelFolder(folder);
    }

    static boolean hasSafetensors(Path folder) throws IOException {
        return !matching(folder, "*" + WEIGHTS_SUFFIX).isEmpty();
    }

    /** Names of a folder's entries, in their order. */
    static List<String> matching(Path folder, String pattern) throws IOException {
        List<String> names = new ArrayList<>();
        try (var entries = Files.newDirectoryStream(folder, pattern)) {
            entries.forEach(entry -> names.add(entry.getFileName().toString()));
        }
        return names.stream().sorted().toList();
    }

    private List<String> weightNames() throws IOException {
        List<String> all = matching(folder, "*" + WEIGHTS_SUFFIX);
        if (index == null) {
            return all;
        }
        if (all.contains(WHOLE) && !index.files().contains(WHOLE)) {
            throw new FileSystemException(folder.resolve(WHOLE).toString(), null,
                    "stands beside " + INDEX + ", which names other files: which of the two is the model?");
        }
        return List.copyOf(index.files());
    }

    /** The real path of a file here; null if there is none. */
    private @Nullable Path within(String name) throws IOException {
        return real(folder, root, name);
    }

    /**
     * Follows links as far as they may lead.
     * @param root real path of the folder
     * @param name of an entry of the folder
     * @return null if there is none
     */
    static @Nullable Path real(Path folder, Path root, String name) throws IOException {
        Path path = folder.resolve(name);
        if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            return null;
        }
        Path real = path.toRealPath();
        if (!isWithin(real, root)) {
            throw new FileSystemException(path.toString(), real.toString(),
                    "a link out of the model's folder is not followed");
        }
        return regular(path, real);
    }

    /** @param path as people know it @param real the same without links. @return the real path */
    static Path regular(Path path, Path real) throws IOException {
        if (!Files.isRegularFile(real, LinkOption.NOFOLLOW_LINKS)) {
            throw new FileSystemException(path.toString(), null, "is no regular file");
        }
        return real;
    }

    private static boolean isWithin(Path real, Path root) {
        return real.startsWith(root) || real.startsWith(blobs(root));
    }

    static List<String> linksOut(Path folder) throws IOException {
        Path root = folder.toRealPath();
        List<String> out = new ArrayList<>();
        for (String name : matching(folder, "*")) {
            Path entry = folder.resolve(name);
            if (Files.isSymbolicLink(entry) && Files.exists(entry) && !isWithin(entry.toRealPath(), root)) {
                out.add(name);
            }
        }
        return out;
    }

    /**
     * Where the cache of Hugging Face's hub has the content of this folder, a snapshot or a folder in one; the folder
     * itself if it is none of it.
     */
    private static Path blobs(Path root) {
        for (Path snapshots = root.getParent(); snapshots != null; snapshots = snapshots.getParent()) {
            if (snapshots.endsWith("snapshots") && isModelOfHub(snapshots.getParent())) {
                return snapshots.resolveSibling("blobs");
            }
        }
        return root;
    }

    private static boolean isModelOfHub(@Nullable Path folder) {
        return folder != null && folder.getFileName() != null && folder.getFileName().toString().startsWith("models--");
    }

    @Override
    public Path path() {
        return folder;
    }

    @Override
    public List<Path> weightFiles() {
        return List.copyOf(weights.values());
    }

    @Override
    public List<WeightFile> openWeights() throws IOException {
        Map<String, WeightFile> opened = new TreeMap<>();
        try {
            for (var file : weights.entrySet()) {
                opened.put(file.getKey(), SafetensorsFile.open(file.getValue()));
            }
            if (index != null) {
                index.check(opened);
            }
        } catch (IOException | RuntimeException e) {
            opened.values().forEach(WeightFile::close);
            throw e;
        }
        return List.copyOf(opened.values());
    }

    @Override
    public @Nullable ModelFile file(String name) throws IOException {
        Path file = within(name);
        if (file != null && Files.size(file) > MAX_FILE_BYTES) {
            throw new FileSystemException(file.toString(), null,
                    "has %d bytes, takes %d".formatted(Files.size(file), MAX_FILE_BYTES));
        }
        return file == null ? null : new ModelFile.Stored(file);
    }
}
