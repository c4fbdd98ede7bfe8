package dev.warmpath.benchmarks.tokenization;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** What the texts are made of that are encoded. */
public enum TextKind {
    /** English prose: the words of this repository's pages, in their order, without signs and line breaks. */
    WORDS,
    /** This repository's pages as they are: tables, code, links. */
    MARKDOWN,
    /** Java sources of this repository. */
    CODE,
    /** Words of one to twelve random small letters. */
    LETTERS,
    /** Random characters out of the 3,000 that follow U+4E00, a full stop after twenty. */
    CJK;

    /** @return at least as many characters, the same on each call */
    String text(int chars) throws IOException {
        String text = switch (this) {
            case WORDS -> joined("docs", ".md").replaceAll("[^A-Za-z]+", " ");
            case MARKDOWN -> joined("docs", ".md");
            case CODE -> joined("router-service/src/main/java", ".java");
            case LETTERS -> letters(chars);
            case CJK -> cjk(chars);
        };
        return text.repeat(Math.ceilDiv(chars, text.length()));
    }

    private static String joined(String folder, String ending) throws IOException {
        try (Stream<Path> paths = Files.walk(Path.of(folder))) {
            List<Path> files = paths.filter(path -> path.toString().endsWith(ending)).sorted().toList();
            var text = new StringBuilder();
            for (Path file : files) {
                text.append(Files.readString(file));
            }
            return text.toString();
        }
    }

    private static String letters(int chars) {
        var random = new SplittableRandom(1);
        var text = new StringBuilder();
        while (text.length() < chars) {
            text.append(' ').append(random.ints(random.nextInt(1, 13), 'a', 'z' + 1).mapToObj(Character::toString)
                    .collect(Collectors.joining()));
        }
        return text.toString();
    }

    private static String cjk(int chars) {
        var random = new SplittableRandom(2);
        var text = new StringBuilder();
        while (text.length() < chars) {
            text.append(random.ints(20, 0x4E00, 0x4E00 + 3_000).mapToObj(Character::toString)
                    .collect(Collectors.joining())).append('。');
        }
        return text.toString();
    }
}
