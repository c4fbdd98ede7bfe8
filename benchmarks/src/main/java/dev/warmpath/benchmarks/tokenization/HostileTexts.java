package dev.warmpath.benchmarks.tokenization;

import dev.warmpath.tokenization.ModelFiles;
import dev.warmpath.tokenization.ModelTokenizer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;

/**
 * Milliseconds for texts that somebody might send to keep a router busy, each at one, two, four and ten million
 * characters: what doubles with its length is linear. The best of three.
 * <pre>
 *   java -Xmx3g -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *        dev.warmpath.benchmarks.tokenization.HostileTexts models/warmpath-tiny/tokenizer.json
 * </pre>
 */
final class HostileTexts {
    private static final int ROUNDS = 3;
    private static final int[] MILLIONS = {1, 2, 4, 10};

    private HostileTexts() {}

    public static void main(String[] args) throws IOException {
        var tokenizer = new ModelTokenizer(new ModelFiles(Files.readAllBytes(Path.of(args[0])),
                "{}".getBytes(StandardCharsets.UTF_8), null, null));
        texts().forEach((name, unit) -> {
            var line = new StringBuilder(name);
            for (int millions : MILLIONS) {
                String text = unit.repeat(Math.ceilDiv(millions * 1_000_000, unit.length()));
                line.append(" | %,.0f".formatted(millis(tokenizer, text)));
            }
            System.out.println(line);
        });
    }

    private static double millis(ModelTokenizer tokenizer, String text) {
        double best = Double.MAX_VALUE;
        for (int i = 0; i < ROUNDS; i++) {
            long begin = System.nanoTime();
            tokenizer.encode(text, false);
            best = Math.min(best, (System.nanoTime() - begin) / 1e6);
        }
        return best;
    }

    private static Map<String, String> texts() {
        String letters = new Random(4).ints(100_003, 'a', 'z' + 1).mapToObj(Character::toString)
                .collect(Collectors.joining());
        Map<String, String> texts = new LinkedHashMap<>();
        texts.put("one word of one letter", "a");
        texts.put("one word of random letters", letters);
        texts.put("<", "<");
        texts.put("beginnings of markers", "<|user");
        texts.put("spaces", " ");
        texts.put("spaces and line breaks by turns", " \n");
        texts.put("scripts by turns", "aбαא中क");
        texts.put("capital and small letters by turns", "aA");
        texts.put("marks", "\u0301");
        texts.put("marks of two classes by turns", "\u0301\u0323");
        texts.put("digits", "1234567890");
        texts.put("broken surrogates", "\ud800");
        texts.put("apostrophes", "'");
        texts.put("emoji", "👩‍👩‍👧");
        return texts;
    }
}
