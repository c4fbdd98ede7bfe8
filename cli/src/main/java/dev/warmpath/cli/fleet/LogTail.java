package dev.warmpath.cli.fleet;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** The end of a log, which may be long. */
public final class LogTail {

    /** Of the end that is looked at; lines beyond it are not shown. */
    private static final int MOST_BYTES = 1 << 20;
    private static final String DESCRIPTION = "Description:";
    private static final int LAST_LINES = 25;

    private LogTail() {}

    /** @return so many last lines, or fewer; none if there is no such file */
    public static List<String> lines(Path log, int count) {
        List<String> lines = end(log);
        return lines.subList(Math.max(0, lines.size() - count), lines.size());
    }

    /**
     * What a process that could not start has to say, with a line before it. A start that knows what is wrong says so
     * at the end, under a heading; there is a stack trace before that if it has come from deep.
     */
    public static List<String> lastWords(Path log) {
        List<String> lines = end(log);
        int description = lines.lastIndexOf(DESCRIPTION);
        List<String> words = description >= 0 ? lines.subList(description, lines.size())
                : lines.subList(Math.max(0, lines.size() - LAST_LINES), lines.size());
        String heading = (description >= 0 ? "--- from " : "--- last lines of ") + log;
        return words.isEmpty() ? List.of() : Stream.concat(
                Stream.of(heading), words.stream()).toList();
    }

    private static List<String> end(Path log) {
        try (var file = new RandomAccessFile(log.toFile(), "r")) {
            long begin = Math.max(0, file.length() - MOST_BYTES);
            file.seek(begin);
            byte[] bytes = new byte[(int) Math.min(MOST_BYTES, file.length() - begin)];
            file.readFully(bytes);
            return new String(bytes, UTF_8).lines().toList();
        } catch (IOException e) {
            return List.of();
        }
    }
}
