package dev.warmpath.cli;

import dev.warmpath.cli.bench.BenchCommand;
import dev.warmpath.cli.build.Ending;
import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.look.LookCommands;
import dev.warmpath.cli.terminal.Screen;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.util.List;
import java.util.stream.Collectors;
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
        versionProvider = VersionProvider.class, abbreviateSynopsis = true, sortOptions = false,
        usageHelpAutoWidth = true, description = "Runs a Warmpath fleet on this machine, and looks at one.")
public final class Warmpath implements Runnable {

    private static final String[] FOOTER = {"", "Exit status: 0 done, 1 it failed, 2 it was called wrong.", "",
            "JAVA_HOME chooses the JDK; it must be a JDK 25. Where none is found, one is fetched from Adoptium into "
                    + ".warmpath/jdk-25, and where no mvn is on the PATH, Maven by its wrapper; mirrors of both are "
                    + "named by WARMPATH_JDK_API (https://api.adoptium.net) and MVNW_REPOURL. WARMPATH_JDK_SEARCH=no "
                    + "overlooks what is installed in the usual places."};
    static final int FAILED = 1;
    static final int WRONG_CALL = 2;

    @Spec
    CommandSpec spec;

    private Warmpath() {}

    /** Ends the process with the command's exit status: 0 done, 1 it failed, 2 it was called wrong. */
    public static void main(String[] arguments) {
        var ending = new Ending();
        int status = commandLine(new Call(Installation.here(), ending)).execute(arguments);
        ending.pass();
        ending.isOver();
        System.exit(status);
    }

    /** All commands. */
    static CommandLine commandLine(Call call) {
        var verify = new CommandLine(new VerifyCommand(call)).setUnmatchedOptionsArePositionalParams(true);
        var plan = new CommandLine(new PlanCommand(call)).setUnmatchedOptionsArePositionalParams(true);
        var commandLine = new CommandLine(new Warmpath())
                .addSubcommand(new UpCommand(call))
                .addSubcommand(new StatusCommand(call))
                .addSubcommand(new LogsCommand(call))
                .addSubcommand(new RestartCommand(call))
                .addSubcommand(new DownCommand(call));
        LookCommands.all(call.installation()).forEach(commandLine::addSubcommand);
        commandLine.addSubcommand(new BenchCommand(call.installation()))
                .addSubcommand(plan)
                .addSubcommand(new DoctorCommand(call))
                .addSubcommand(new IndexCommand(call))
                .addSubcommand(new KeyCommand(call))
                .addSubcommand(new ProfileCommand(call))
                .addSubcommand(new ImagesCommand(call))
                .addSubcommand(verify)
                .addSubcommand(new CompletionCommand(call.installation()))
                .addSubcommand(new HelpCommand());
        commandLine.getCommandSpec().usageMessage().footer(FOOTER);
        remove(verify, "-V");                                                              // Maven has one, too
        remove(plan, "-V", "-h");                                                          // and so has the planner
        return commandLine.setParameterExceptionHandler((wrong, _) -> explain(wrong))
                .setExecutionExceptionHandler((failure, command, _) -> explain(failure, command))
                .setCaseInsensitiveEnumValuesAllowed(true);
    }

    private static void remove(CommandLine command, String... options) {
        for (String option : options) {
            command.getCommandSpec().remove(command.getCommandSpec().findOption(option));
        }
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
        switch (failure) {
            case CommandException refused -> command.getErr().println("warmpath: "
                    + refused.getMessage().lines().map(Screen::harmless).collect(Collectors.joining("\n")));
            case FileSystemException file -> command.getErr().println("warmpath: cannot read or write "
                    + "" + file.getFile() + ": "
                    + (file.getReason() == null ? "it is not there, or not allowed" : file.getReason()));
            case IOException broken -> command.getErr().println("warmpath: "
                    + Screen.harmless(String.valueOf(broken.getMessage())));
            default -> throw failure;
        }
        return FAILED;
    }
}
