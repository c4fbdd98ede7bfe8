package dev.warmpath.planner.command;

import dev.warmpath.planner.analysis.Analysis;
import dev.warmpath.planner.analysis.AnalysisView;
import dev.warmpath.planner.output.JsonText;
import dev.warmpath.planner.output.Progress;
import dev.warmpath.planner.output.Provenance;
import dev.warmpath.planner.trace.Arrival;
import dev.warmpath.planner.trace.TraceReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code plan analyze}: what prompts share, and how large a cache that needs. */
@Command(name = "analyze", description = {"What a trace's prompts share, and how large a cache that needs.",
        "One pass, in a quarter of a gigabyte, however long the file is. Ctrl-C ends it, and tells of what was read."})
final class AnalyzeCommand implements Callable<Integer> {

    private static final int TOLD_EACH = 256;

    @Spec
    CommandSpec spec = CommandSpec.create();

    @Parameters(paramLabel = "LOG",
            description = "A file of requests: Mooncake's format, prompts or token ids as JSON lines, or a router's"
                    + " log of requests; .gz is unpacked.")
    Path file = Path.of("");

    @Mixin
    TraceOptions options = new TraceOptions();

    @Option(names = "--bytes-per-token", paramLabel = "B",
            description = "Of keys and values of a token: sizes are told in bytes, too.")
    @Nullable Long bytesPerToken;

    @Option(names = "--cache", paramLabel = "TOKENS",
            description = "Of all workers' caches together: tells what stands in the way of more hits.")
    @Nullable Long cacheTokens;

    @Option(names = "--json", description = "The result as JSON.")
    boolean json;

    @Override
    public Integer call() throws IOException {
        if (bytesPerToken != null && bytesPerToken < 1) {
            throw new ParameterException(spec.commandLine(), "--bytes-per-token is 1 or more, not " + bytesPerToken);
        }
        if (cacheTokens != null && cacheTokens < 1) {
            throw new ParameterException(spec.commandLine(), "--cache is 1 token or more, not " + cacheTokens);
        }
        var analysis = new Analysis();
        try (Progress progress = Progress.standard();
                TraceReader reader = TraceReader.open(file, options.settings(spec.commandLine()));
                var telling = new Telling<>(progress, interrupted -> result(analysis, reader, interrupted),
                        this::show)) {
            for (Arrival next = reader.next(); next != null; next = reader.next()) {
                analysis.add(next);
                if (reader.requests() % TOLD_EACH == 0) {
                    progress.tell("reading " + file.getFileName(), reader.share());
                }
            }
            telling.done();
        }
        return 0;
    }

    private AnalysisView result(Analysis analysis, TraceReader reader, boolean interrupted) {
        try {
            String digest = interrupted ? "" : reader.sha256();
            Provenance provenance = Provenance.of(options.seed, List.of(new Provenance.Input(file.toString(),
                    reader.format(), digest, reader.requests())));
            return analysis.result(provenance, String.valueOf(file.getFileName()), interrupted, bytesPerToken,
                    cacheTokens);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void show(AnalysisView view) {
        spec.commandLine().getOut().print(json ? JsonText.of(view) + '\n' : view.text());
        spec.commandLine().getOut().flush();
    }
}
