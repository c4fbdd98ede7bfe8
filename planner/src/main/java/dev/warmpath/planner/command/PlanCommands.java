package dev.warmpath.planner.command;

import dev.warmpath.planner.output.Provenance;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileSystemException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.HelpCommand;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/** All commands of the planner. Without one: what there is. */
@Command(name = "./warmpath plan", mixinStandardHelpOptions = true, scope = CommandLine.ScopeType.INHERIT,
        versionProvider = PlanCommands.Version.class, abbreviateSynopsis = true, sortOptions = false,
        usageHelpAutoWidth = true,
        description = "What a load would cost, how many workers it needs, what another policy would have done.",
        footer = {"", "Exit status: 0 done, 1 it failed, 2 it was called wrong."})
public final class PlanCommands implements Runnable {

    private static final int FAILED = 1;
    private static final int WRONG_CALL = 2;

    @Spec
    CommandSpec spec = CommandSpec.create();

    private PlanCommands() {}

    /** @return the exit status: 0 done, 1 it failed, 2 it was called wrong */
    public static int execute(String... arguments) {
        return commandLine().execute(arguments);
    }

    static CommandLine commandLine() {
        return new CommandLine(new PlanCommands())
                .addSubcommand(new AnalyzeCommand())
                .addSubcommand(new SimulateCommand())
                .addSubcommand(new OrderCommand())
                .addSubcommand(new ReplayCommand())
                .addSubcommand(new CalibrateCommand())
                .addSubcommand(new SizeCommand())
                .addSubcommand(new HelpCommand())
                .setParameterExceptionHandler((wrong, _) -> explain(wrong))
                .setExecutionExceptionHandler((failure, command, _) -> explain(failure, command))
                .setCaseInsensitiveEnumValuesAllowed(true);
    }

    @Override
    public void run() {
        spec.commandLine().usage(spec.commandLine().getOut());
    }

    private static int explain(ParameterException wrong) {
        CommandLine command = wrong.getCommandLine();
        command.getErr().println("warmpath: " + wrong.getMessage());
        UnmatchedArgumentException.printSuggestions(wrong, command.getErr());
        command.getErr().println("See " + command.getCommandSpec().qualifiedName() + " --help");
        return WRONG_CALL;
    }

    /** @throws Exception it, if it is a fault of this program's */
    private static int explain(Exception thrown, CommandLine command) throws Exception {
        Exception failure = thrown instanceof UncheckedIOException unchecked ? unchecked.getCause() : thrown;
        switch (failure) {
            case FileSystemException file -> command.getErr().println("warmpath: cannot read or write "
                    + file.getFile() + ": "
                    + (file.getReason() == null ? "it is not there, or not allowed" : file.getReason()));
            case IOException broken -> command.getErr().println("warmpath: " + broken.getMessage());
            default -> throw failure;
        }
        return FAILED;
    }

    static final class Version implements IVersionProvider {

        @Override
        public String[] getVersion() {
            return new String[] {Provenance.program()};
        }
    }
}
