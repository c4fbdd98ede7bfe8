package dev.warmpath.cli;

import dev.warmpath.cli.build.Service;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tools.jackson.databind.json.JsonMapper;

/** {@code key}: has a router's program make an API key. */
@Command(name = "key", description = {"Make an API key and its line for the file of keys.",
        "Both are shown once. WARMPATH_APIKEYS_FILE names that file."})
final class KeyCommand implements Callable<Integer> {

    private static final String BEFORE_KEY = "  ";

    private final Call call;

    @Spec
    CommandSpec spec;

    @Parameters(paramLabel = "NAME", description = "Who will hold it: letters, digits, dots, hyphens and underscores.")
    String name = "";

    @Option(names = "--operator", description = "It may ask where requests would go, and is told where they went.")
    boolean isOperator;

    @Option(names = "--requests-per-minute", paramLabel = "N", description = "What may be used with it, of each router "
            + "(default: no limit).")
    @Nullable String requests;

    @Option(names = "--tokens-per-minute", paramLabel = "N", description = "As above, of tokens (default: no limit).")
    @Nullable String tokens;

    @Option(names = "--json", description = "As JSON: key and line.")
    boolean isJson;

    KeyCommand(Call call) {
        this.call = call;
    }

    @Override
    public Integer call() throws IOException {
        List<String> arguments = new ArrayList<>(List.of("key", name));
        if (isOperator) {
            arguments.add("--operator");
        }
        if (requests != null) {
            arguments.addAll(List.of("--requests-per-minute", requests));
        }
        if (tokens != null) {
            arguments.addAll(List.of("--tokens-per-minute", tokens));
        }
        List<String> command = call.command(Service.ROUTER, Service.ROUTER.flags(), "-Xmx64m", arguments);
        if (!isJson) {
            return call.programs().show(command);
        }
        String said = call.programs().capture(command);
        if (said == null) {
            return Warmpath.WRONG_CALL;
        }
        List<String> lines = said.lines().toList();
        String key = lines.stream().filter(line -> line.startsWith(BEFORE_KEY)).findFirst().orElse("").strip();
        spec.commandLine().getOut().println(JsonMapper.builder().build()
                .writeValueAsString(Map.of("key", key, "line", lines.getLast())));
        return 0;
    }
}
