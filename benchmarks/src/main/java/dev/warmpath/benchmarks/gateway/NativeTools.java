package dev.warmpath.benchmarks.gateway;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import tools.jackson.databind.json.JsonMapper;

/**
 * The two programs in C, compiled into a folder.
 *
 * @param folder with {@code mock} and {@code load}
 * @param words  file that prompts are made of
 * @param token  what every answer is made of
 */
record NativeTools(Path folder, Path words, MockModel.Token token) {

    private static final Path SOURCES = Path.of("benchmarks/gateway");
    private static final String[] PROGRAMS = {"mock", "load"};
    private static final long MARGIN_SECONDS = 90;

    /** Told when the measured part of a load begins and ends. */
    interface Watch {
        void begin();

        void end();
    }

    static NativeTools compile(Path folder, Path words, MockModel.Token token)
            throws IOException, InterruptedException {
        for (String program : PROGRAMS) {
            int status = new ProcessBuilder("cc", "-O2", "-Wall", "-Wextra", "-Werror",
                    "-o", folder.resolve(program).toString(), SOURCES.resolve(program + ".c").toString())
                    .inheritIO().start().waitFor();
            if (status != 0) {
                throw new IOException("cc could not compile " + program + ".c");
            }
        }
        return new NativeTools(folder, words, token);
    }

    /** A mock worker; it ends with this process. The first line of its output says where it listens. */
    Process startMock(Path snapshot, Path files) throws IOException {
        return new ProcessBuilder(folder.resolve("mock").toString(), "-e", snapshot.toString(), "-f", files.toString(),
                "-i", Integer.toString(token.id()), "-t", token.text(), "-m", MockModel.NAME)
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    /** For workers that answer otherwise: pieces of text are counted, and how many there are is not checked. */
    NativeTools countingPieces() {
        return new NativeTools(folder, words, new MockModel.Token(token.id(), ""));
    }

    /** Runs a load to its end. */
    LoadResult run(Load load, int port, Seconds seconds, Watch watch)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(folder.resolve("load").toString(),
                "-p", Integer.toString(port), "-w", words.toString(), "-x", token.text(), "-m", MockModel.NAME,
                "-W", Double.toString(seconds.warm), "-s", Double.toString(seconds.measured),
                "-S", Long.toString(System.nanoTime())));
        command.addAll(load.arguments());
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try (BufferedReader output = process.inputReader()) {
            for (String line = output.readLine(); line != null; line = output.readLine()) {
                switch (line) {
                    case "begin" -> watch.begin();
                    case "end" -> watch.end();
                    default -> {
                        return JsonMapper.shared().readValue(line, LoadResult.class);
                    }
                }
            }
            throw new IOException("load has ended without a result: " + String.join(" ", command));
        } finally {
            if (!process.waitFor(MARGIN_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        }
    }

    /** How long a load runs before it is measured, and how long then. */
    record Seconds(double warm, double measured) {}
}
