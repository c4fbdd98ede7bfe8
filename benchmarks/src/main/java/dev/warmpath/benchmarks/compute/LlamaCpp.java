package dev.warmpath.benchmarks.compute;

import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.io.Writer;
import java.util.Arrays;
import java.util.stream.Collectors;

/** llama.cpp in a process of its own, which measures when it is told to and otherwise sleeps. */
record LlamaCpp(Process process, BufferedReader output, Writer input) implements AutoCloseable {

    private static final String SCRIPT = "benchmarks/compute/llama_speed.py";

    /** @param length tokens that a sequence has room for */
    static LlamaCpp start(String python, String model, int threads, int streams, int length) throws IOException {
        Process process = new ProcessBuilder(python, SCRIPT, model, Integer.toString(threads),
                Integer.toString(streams), Integer.toString(length)).redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        var llama = new LlamaCpp(process, process.inputReader(), process.outputWriter());
        llama.readLine();
        return llama;
    }

    double seconds(String measured, int... numbers) throws IOException {
        input.write(Arrays.stream(numbers).mapToObj(Integer::toString)
                .collect(Collectors.joining(" ", measured + " ", "\n")));
        input.flush();
        return Double.parseDouble(readLine());
    }

    private String readLine() throws IOException {
        String line = output.readLine();
        if (line == null) {
            throw new EOFException(SCRIPT + " has ended; run it by hand to see why");
        }
        return line;
    }

    @Override
    public void close() throws IOException {
        input.close();
        process.destroy();
    }
}
