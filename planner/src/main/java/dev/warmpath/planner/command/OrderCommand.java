package dev.warmpath.planner.command;

import dev.warmpath.planner.analysis.BatchOrder;
import dev.warmpath.planner.analysis.OrderView;
import dev.warmpath.planner.output.JsonText;
import dev.warmpath.planner.output.Progress;
import dev.warmpath.planner.output.Provenance;
import dev.warmpath.planner.trace.TraceLines;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
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

/** {@code plan order}: a batch in an order in which equal beginnings run together. */
@Command(name = "order", description = {"A batch's prompts so that equal beginnings run together, and what that saves.",
        "Prompts as JSON lines, OpenAI's batch files among them; --out writes the lines as they are, in that order."})
final class OrderCommand implements Callable<Integer> {

    @Spec
    CommandSpec spec = CommandSpec.create();

    @Parameters(paramLabel = "FILE", description = "The batch; .gz is unpacked.")
    Path file = Path.of("");

    @Mixin
    TraceOptions options = new TraceOptions();

    @Option(names = "--cache", paramLabel = "TOKENS", defaultValue = "400000",
            description = "Of the worker that computes it (default: ${DEFAULT-VALUE}).")
    long cacheTokens = 400_000;

    @Option(names = "--out", paramLabel = "FILE", description = "Where the lines are written.")
    @Nullable Path out;

    @Option(names = "--json", description = "The result as JSON.")
    boolean json;

    @Override
    public Integer call() throws IOException {
        if (cacheTokens < 1) {
            throw new ParameterException(spec.commandLine(), "--cache is 1 token or more, not " + cacheTokens);
        }
        OrderView view = view();
        spec.commandLine().getOut().print(json ? JsonText.of(view) + '\n' : view.text());
        spec.commandLine().getOut().flush();
        return 0;
    }

    private OrderView view() throws IOException {
        try (Progress progress = Progress.standard();
                TraceLines lines = TraceLines.open(file, options.settings(spec.commandLine()))) {
            BatchOrder order = BatchOrder.of(lines, share -> progress.tell("reading " + file.getFileName(), share));
            if (out != null) {
                write(order, out);
            }
            Provenance provenance = Provenance.of(options.seed, List.of(new Provenance.Input(file.toString(),
                    lines.format(), lines.sha256(), order.prompts())));
            return OrderView.of(provenance, order, Math.max(1, cacheTokens / order.blockTokens()));
        }
    }

    /** Beside its place first: the file may be the one that was read. */
    private static void write(BatchOrder order, Path out) throws IOException {
        Path beside = out.resolveSibling(out.getFileName() + ".part");
        try (var stream = new BufferedOutputStream(Files.newOutputStream(beside))) {
            order.write(stream);
        }
        Files.move(beside, out, StandardCopyOption.REPLACE_EXISTING);
    }
}
