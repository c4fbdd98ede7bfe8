package dev.warmpath.planner.command;

import dev.warmpath.planner.trace.TraceSettings;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.workload.Prompt;
import picocli.CommandLine;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;

/** How a file of requests is read that leaves something open. */
final class TraceOptions {

    private static final int LARGEST_BLOCK = HashSettings.MAX_BLOCK_SIZE;
    /** Of requests in a second: what is slower is a mistake, and takes years to simulate. */
    private static final double LEAST_RATE = 1e-4;

    @Option(names = "--block-tokens", paramLabel = "N", defaultValue = "0", showDefaultValue =
            CommandLine.Help.Visibility.NEVER, description = "Tokens of a block, of a trace of tokens or text"
                    + " (default: 16), or of one of block ids whose blocks are not found by its first line.")
    int blockTokens;

    @Option(names = "--answer-tokens", paramLabel = "N", defaultValue = "128",
            description = "Of requests that do not say how long their answers are (default: ${DEFAULT-VALUE}).")
    int answerTokens = TraceSettings.DEFAULT.answerTokens();

    @Option(names = "--rate", paramLabel = "R", defaultValue = "1",
            description = "Of a file without times: requests in a second, at random; of a generated load: sessions that"
                    + " begin (default: ${DEFAULT-VALUE}).")
    double rate = 1;

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1",
            description = "Of all that is drawn (default: ${DEFAULT-VALUE}).")
    long seed = 1;

    /** @throws ParameterException if one of them is out of its range. @param command that was called with them */
    TraceSettings settings(CommandLine command) {
        if (blockTokens != 0 && (blockTokens < Prompt.SMALLEST_PIECE || blockTokens > LARGEST_BLOCK)) {
            throw new ParameterException(command, "--block-tokens takes a number from " + Prompt.SMALLEST_PIECE + " to "
                    + LARGEST_BLOCK + ", not " + blockTokens);
        }
        if (answerTokens < 1) {
            throw new ParameterException(command, "--answer-tokens is 1 or more, not " + answerTokens);
        }
        if (!(rate >= LEAST_RATE && rate <= 1e6)) {
            throw new ParameterException(command, "--rate is from 0.0001 to a million, not " + rate);
        }
        return new TraceSettings(blockTokens, answerTokens, rate, seed);
    }
}
