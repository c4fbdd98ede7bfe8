package dev.warmpath.cli;

import dev.warmpath.cli.build.Maven;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code verify}: all tests. */
@Command(name = "verify", description = "All tests: mvn -B verify.")
final class VerifyCommand implements Callable<Integer> {

    private final Call call;

    @Parameters(arity = "0..*", paramLabel = "ARGS", description = "Further arguments for Maven, such as -Pfull.")
    List<String> arguments = new ArrayList<>();

    VerifyCommand(Call call) {
        this.call = call;
    }

    @Override
    public Integer call() throws IOException {
        List<String> goals = new ArrayList<>(List.of("verify"));
        goals.addAll(arguments);
        var maven = new Maven(call.installation(), call.programs());
        return maven.programs().show(maven.command(goals)) == 0 ? 0 : Warmpath.FAILED;
    }
}
