package dev.warmpath.worker;

import dev.warmpath.worker.model.source.ModelSource;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonToken;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The files of a folder, for somebody who looks whether they are what they should be. What they are not is a problem in
 * the list, and nothing is thrown.
 *
 * @param names    of files and folders in it
 * @param problems grows as more is looked at
 */
record FolderCheck(Path path, Set<String> names, List<Problem> problems) {

    private static final JsonMapper JSON = JsonMapper.shared();
    /** A pointer has three short lines; the file that it stands for lies on a server of Git's. */
    private static final byte[] LFS_POINTER = "version https://git-lfs".getBytes(StandardCharsets.US_ASCII);
    private static final String PULL = "Fetch it by 'git lfs pull'";
    private static final String AGAIN = "Fetch it again; a download may have broken off";
    private static final Pattern PLACE = Pattern.compile(":? \\(start marker|\\[Source");
    private static final Pattern READ = Pattern.compile(
            "(config|tokenizer|tokenizer_config|generation_config|model\\.safetensors\\.index)\\.json"
                    + "|chat_template\\.jinja|.+\\.safetensors");
    private static final int MOST_ENTRIES = 10_000;
    private static final int MOST_LISTED = 5;

    /** @throws IOException if the folder may not be read */
    static FolderCheck of(Path path, List<Problem> problems) throws IOException {
        try (Stream<Path> files = Files.list(path)) {
            return new FolderCheck(path, files.limit(MOST_ENTRIES).map(file -> file.getFileName().toString())
                    .collect(Collectors.toCollection(TreeSet::new)), problems);
        }
    }

    /** Whether there is such a file; a link that leads nowhere is none. */
    boolean has(String name) {
        return names.contains(name) && Files.exists(path.resolve(name));
    }

    /** Those of its names. */
    List<String> like(Pattern pattern) {
        return names.stream().filter(name -> pattern.matcher(name).matches()).toList();
    }

    void add(String contradiction, String remedy) {
        problems.add(new Problem(contradiction, remedy));
    }

    void addMissing(String name, String remedy) {
        add(names.contains(name) ? "%s in %s is a link to something that is not there".formatted(name, path)
                : "%s has no %s".formatted(path, name), remedy);
    }

    void addUnreadable(String name, IOException e) {
        add("%s in %s cannot be read: %s".formatted(name, path, e), "Let this user read it");
    }

    /** @param names of pointers of Git LFS */
    void addPointers(Collection<String> names) {
        add("%s in %s is no more than a pointer of Git LFS".formatted(listed(names), path), PULL);
    }

    /** @return the content of a file that is there; null if it is none, which is a problem then */
    @Nullable JsonNode json(String name) {
        return readable(name, file -> JSON.readTree(Files.readAllBytes(file)));
    }

    /** The same of a file that is too long to be kept. */
    void requireJsonObject(String name) {
        readable(name, file -> {
            try (var parser = JSON.createParser(file)) {
                if (parser.nextToken() != JsonToken.START_OBJECT) {
                    add("%s in %s is not a JSON object".formatted(name, path), AGAIN);
                }
                return parser.skipChildren();
            }
        });
    }

    /** The same of a file in which anything may stand. */
    void requireText(String name) {
        if (isPointer(name)) {
            addPointers(List.of(name));
        } else {
            readable(name, Files::readAllBytes);
        }
    }

    /** Reads a file. */
    interface Reading<T> {
        T of(Path file) throws IOException;
    }

    /** @return null: it cannot be read, which is a problem; or it is no file of this folder that may be, likewise */
    <T> @Nullable T readable(String name, Reading<T> reading) {
        try {
            Path file = path.resolve(name);
            if (!Files.isRegularFile(file)) {
                add("%s in %s is no file".formatted(name, path), "");          // a pipe would keep its reader waiting
                return null;
            }
            if (ModelSource.linksOut(path).contains(name)) {
                return null;                                                   // said of all such links together
            }
            if (Files.size(file) > ModelSource.MAX_FILE_BYTES) {
                add("%s in %s has %,d bytes, takes %,d".formatted(name, path, Files.size(file),
                        ModelSource.MAX_FILE_BYTES), "");
                return null;
            }
            return reading.of(file);
        } catch (JacksonException e) {
            if (isPointer(name)) {
                addPointers(List.of(name));
            } else {
                add("%s in %s is not JSON: %s".formatted(name, path, withoutPlace(e.getOriginalMessage())), AGAIN);
            }
        } catch (IOException e) {
            addUnreadable(name, e);
        }
        return null;
    }

    void requireJsonIfThere(String name) {
        if (has(name)) {
            json(name);
        }
    }

    /** Links are followed within the folder only, see {@link ModelSource}. */
    void requireLinksWithin() throws IOException {
        List<String> out = ModelSource.linksOut(path).stream().filter(name -> READ.matcher(name).matches()).toList();
        if (!out.isEmpty()) {
            add("%s in %s: a link that leads out of the folder is not followed".formatted(listed(out), path),
                    "Give the folder that it leads to, or copy what it leads to");
        }
    }

    /** What a parser says, without places in an input that it does not know the name of. */
    static String withoutPlace(String said) {
        return PLACE.split(said, 2)[0];
    }

    boolean isPointer(String name) {
        if (!Files.isRegularFile(path.resolve(name))) {
            return false;
        }
        try (InputStream in = Files.newInputStream(path.resolve(name))) {
            return Arrays.equals(in.readNBytes(LFS_POINTER.length), LFS_POINTER);
        } catch (IOException e) {
            return false;               // whoever reads all of it will say so
        }
    }

    /** A few of the names, in one line. */
    static String listed(Collection<String> names) {
        String first = names.stream().limit(MOST_LISTED).collect(Collectors.joining(", "));
        return names.size() <= MOST_LISTED ? first : first + " and " + (names.size() - MOST_LISTED) + " more";
    }
}
