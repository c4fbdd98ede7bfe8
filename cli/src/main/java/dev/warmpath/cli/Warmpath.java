package dev.warmpath.cli;

import dev.warmpath.cli.bench.BenchCommand;
import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.look.LookCommands;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.HelpCommand;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.ArgSpec;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/** The {@code warmpath} command. The launcher script finds Java and starts this. */
@Command(name = "warmpath", mixinStandardHelpOptions = true, scope = CommandLine.ScopeType.INHERIT,
        description = "Runs a Warmpath fleet on this machine, and looks at one.",
        subcommands = HelpCommand.class)
public final class Warmpath implements Runnable {

    static final int FAILED = 1;
    static final int WRONG_CALL = 2;

    @Spec
    CommandSpec spec;

    private Warmpath() {}

    /** Ends the process with the command's exit status: 0 done, 1 it failed, 2 it was called wrong. */
    public static void main(String[] arguments) {
        System.exit(commandLine(Installation.here()).execute(arguments));
    }

    /** All commands, on one installation. */
    static CommandLine commandLine(Installation installation) {
        var commandLine = new CommandLine(new Warmpath());
        LookCommands.all(installation).forEach(commandLine::addSubcommand);
        commandLine.addSubcommand(new BenchCommand(installation));
        return commandLine.setParameterExceptionHandler((wrong, _) -> explain(wrong))
                .setExecutionExceptionHandler((failure, command, _) -> explain(failure, command))
                .setCaseInsensitiveEnumValuesAllowed(true);
    }

    /** Without a command: what there is. */
    @Override
    public void run() {
        spec.commandLine().usage(System.out);
    }

    private static int explain(ParameterException wrong) {
        CommandLine command = wrong.getCommandLine();
        command.getErr().println("warmpath: " + sentence(wrong));
        UnmatchedArgumentException.printSuggestions(wrong, command.getErr());
        command.getErr().println("See ./" + command.getCommandSpec().qualifiedName() + " --help");
        return WRONG_CALL;
    }

    private static String sentence(ParameterException wrong) {
        String name = wrong.getCommandLine().getCommandName();
        if (wrong instanceof UnmatchedArgumentException unmatched) {
            String first = unmatched.getUnmatched().getFirst();
            return wrong.getCommandLine().getParent() != null || first.startsWith("-")
                    ? name + " does not know '" + first + "'" : "'" + first + "' is no command";
        }
        if (wrong instanceof MissingParameterException missing) {
            List<ArgSpec> options = missing.getMissing().stream().filter(ArgSpec::isOption).toList();
            if (!options.isEmpty()) {
                return ((OptionSpec) options.getFirst()).longestName() + " needs a value";
            }
        }
        return wrong.getMessage();
    }

    /** @throws Exception it, if it is a fault of this program's */
    private static int explain(Exception failure, CommandLine command) throws Exception {
        if (failure instanceof CommandException) {
            command.getErr().println("warmpath: " + failure.getMessage());
            return FAILED;
        }
        throw failure;
    }
}
