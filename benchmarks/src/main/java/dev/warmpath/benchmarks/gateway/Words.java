package dev.warmpath.benchmarks.gateway;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What prompts are made of: the words of this repository's documents and of some of its code, each as often as it stands
 * there, so that a tokenizer finds frequent and rare ones as in real text. Which of them a prompt has is drawn by chance.
 */
final class Words {

    private static final List<Path> SOURCES = List.of(Path.of("docs"), Path.of("kv-protocol/src/main/java"));
    private static final String TEXTS = ".+\\.(md|java)";
    /** Prose has few other signs than these, and those of tables and drawings would be a token each. */
    private static final Pattern WORD = Pattern.compile("[A-Za-z']+[,.;:]?");

    private Words() {}

    /** Writes them one a line; nothing in them has to be escaped inside a JSON string. */
    static Path write(Path file) throws IOException {
        try (var out = Files.newBufferedWriter(file)) {
            for (Path source : SOURCES) {
                for (Path text : texts(source)) {
                    for (String word : Files.readString(text).split("\\s+")) {
                        if (WORD.matcher(word).matches()) {
                            out.write(word + "\n");
                        }
                    }
                }
            }
        }
        return file;
    }

    private static List<Path> texts(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            return files.filter(file -> file.toString().matches(TEXTS)).sorted().toList();
        }
    }
}
