package dev.warmpath.benchmarks.gpu;

import dev.warmpath.worker.compute.cuda.CudaSettings;
import java.nio.file.Path;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The command line.
 * @param quick   sizes for an emulated device; nothing is judged then
 * @param output  directory for {@code timings.md} and {@code timings.json}
 * @param model   directory that the random model is written to
 * @param anchors what {@code anchor.py} wrote; null: there is nothing
 * @param budget  no case begins after so long
 */
record Options(CudaSettings settings, boolean quick, Path output, Path model, @Nullable Path anchors,
               Duration budget) {

    static final String USAGE = """
            GpuTimings --output DIR --model DIR [--anchors FILE] [--seconds N] [--quick]
                       [--device N] [--driver LIBRARY] [--cublas-lt LIBRARY]""";

    private static final int DEFAULT_SECONDS = 180;

    /** @throws IllegalArgumentException with the usage, if an option is unknown or wrong */
    static Options parse(String... arguments) {
        boolean quick = false;
        Path output = null;
        Path model = null;
        Path anchors = null;
        Path driver = null;
        Path cublasLt = null;
        String device = "0";
        int seconds = DEFAULT_SECONDS;
        for (int i = 0; i < arguments.length; i++) {
            switch (arguments[i]) {
                case "--quick" -> quick = true;
                case "--output" -> output = Path.of(value(arguments, ++i));
                case "--model" -> model = Path.of(value(arguments, ++i));
                case "--anchors" -> anchors = Path.of(value(arguments, ++i));
                case "--driver" -> driver = Path.of(value(arguments, ++i));
                case "--cublas-lt" -> cublasLt = Path.of(value(arguments, ++i));
                case "--device" -> device = value(arguments, ++i);
                case "--seconds" -> seconds = Integer.parseInt(value(arguments, ++i));
                default -> throw new IllegalArgumentException(arguments[i] + " is no option\n" + USAGE);
            }
        }
        if (output == null || model == null) {
            throw new IllegalArgumentException("--output and --model are needed\n" + USAGE);
        }
        return new Options(new CudaSettings(device, driver, cublasLt), quick, output, model, anchors,
                Duration.ofSeconds(seconds));
    }

    private static String value(String[] arguments, int index) {
        if (index == arguments.length) {
            throw new IllegalArgumentException(arguments[index - 1] + " wants a value\n" + USAGE);
        }
        return arguments[index];
    }
}
