package dev.warmpath.cli;

import dev.warmpath.cli.build.Progress;
import dev.warmpath.cli.start.Restart;
import dev.warmpath.cli.start.StartFailedException;
import dev.warmpath.cli.fleet.FleetMember;
import java.io.IOException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code restart}: starts one process of the fleet again. */
@Command(name = "restart", description = {"Start one process of the fleet again as it was started.",
        "It may be running or have ended. Returns when it is ready; the others go on serving."})
final class RestartCommand implements Callable<Integer> {

    private final Call call;

    @Spec
    CommandSpec spec;

    @Parameters(paramLabel = "ID", description = "Which one, such as worker-1; ./warmpath status lists them.")
    String id = "";

    @Option(names = "--json", description = "As JSON: the process, when it is ready.")
    boolean isJson;

    RestartCommand(Call call) {
        this.call = call;
    }

    @Override
    public Integer call() throws IOException {
        try (var progress = isJson ? Progress.aside() : Progress.here()) {
            try {
                FleetMember member =
                        new Restart(call.installation(), call.ending(), progress, call.stallTimeout()).run(id);
                if (isJson) {
                    spec.commandLine().getOut().println(StatusCommand.json(member, "ready"));
                }
                return 0;
            } catch (StartFailedException e) {
                progress.end();
                UpCommand.explain(e, spec);
                return Warmpath.FAILED;
            }
        }
    }
}
