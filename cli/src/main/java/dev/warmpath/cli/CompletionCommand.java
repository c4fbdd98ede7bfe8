package dev.warmpath.cli;

import picocli.AutoComplete;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code completion}: a script by which a shell completes commands and options. */
@Command(name = "completion", description = {"A script by which a shell completes commands and options.",
        "For warmpath and ./warmpath: source <(./warmpath completion bash)"})
final class CompletionCommand implements Runnable {

    @Spec
    CommandSpec spec;

    @Parameters(paramLabel = "bash|zsh", description = "For which shell.")
    Shell shell = Shell.BASH;

    /** One script serves both: in zsh it turns bash's way of completion on. */
    enum Shell {
        BASH, ZSH
    }

    @Override
    public void run() {
        spec.commandLine().getOut().print(AutoComplete.bash("warmpath", spec.root().commandLine()));
        spec.commandLine().getOut().flush();
    }
}
