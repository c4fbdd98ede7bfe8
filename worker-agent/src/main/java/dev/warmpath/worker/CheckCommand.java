package dev.warmpath.worker;

import dev.warmpath.process.Service;
import dev.warmpath.process.ServiceProcess;
import dev.warmpath.worker.model.source.ModelFile;
import dev.warmpath.worker.model.source.ModelSource;
import dev.warmpath.worker.model.weights.WeightFileException;
import dev.warmpath.worker.routerlink.ModelFiles;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.springframework.core.env.SimpleCommandLinePropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.util.unit.DataSize;

/**
 * Tells whether workers would start, and with how much memory, with no weight read and none started.
 *
 * <pre>
 * check [--workers N] [--heap SIZE] [--beside SIZE] [--machine SIZE] [--made DIR] --warmpath.model.directory=DIR
 *     [--warmpath.…=…]
 * </pre>
 * Settings as a worker has them, by arguments or from the environment. What is wrong is a line each, {@code - } before
 * it, and all of it is told; what one should know has {@code warning: } before it. If they would start, lines
 * {@code name=value} say what is to be told to them. Files for routers that a GGUF file stands for are written to
 * {@code --made}, so that a router's check can look at them.
 */
final class CheckCommand {

    static final String NAME = "check";
    static final int WOULD_START = 0;
    static final int WOULD_NOT_START = 1;
    static final int WRONG_ARGUMENTS = 2;
    /** Of a fleet for which nobody says. */
    private static final int USUAL_WORKERS = 2;

    private final Arguments arguments;
    private final List<Problem> problems = new ArrayList<>();
    private final List<String> warnings = new ArrayList<>();

    /**
     * What stands before settings.
     *
     * @param workers how many are to be started; null: as it suits the machine
     * @param heap    of each; null: as it follows
     * @param beside  memory of other processes of the fleet
     * @param machine memory of all; null: this machine's
     * @param made    folder for files that are made of a GGUF file; null: nobody wants them
     */
    private record Arguments(@Nullable Integer workers, @Nullable DataSize heap, DataSize beside,
            @Nullable DataSize machine, @Nullable Path made, List<String> settings) {

        private static int atLeastOne(String count) {
            int workers = Integer.parseInt(count);
            if (workers < 1) {
                throw new NumberFormatException("a fleet has one worker at least");
            }
            return workers;
        }

        /** @throws IllegalArgumentException in a sentence */
        static Arguments of(List<String> given) {
            Integer workers = null;
            DataSize heap = null;
            DataSize beside = DataSize.ofBytes(0);
            DataSize machine = null;
            Path made = null;
            List<String> settings = new ArrayList<>();
            for (int i = 0; i < given.size(); i++) {
                String argument = given.get(i);
                switch (argument) {
                    case "--workers" -> workers = value(++i, given, Arguments::atLeastOne);
                    case "--heap" -> heap = value(++i, given, DataSize::parse);
                    case "--beside" -> beside = value(++i, given, DataSize::parse);
                    case "--machine" -> machine = value(++i, given, DataSize::parse);
                    case "--made" -> made = value(++i, given, Path::of);
                    default -> {
                        if (!argument.startsWith("--warmpath.") || !argument.contains("=")) {
                            throw new IllegalArgumentException("check does not know '" + argument + "'; it takes "
                                    + "--workers N, --heap SIZE, --beside SIZE, --machine SIZE, --made DIR and "
                                    + "settings as --warmpath.model.directory=DIR");
                        }
                        settings.add(argument);
                    }
                }
            }
            return new Arguments(workers, heap, beside, machine, made, settings);
        }

        private static <T> T value(int index, List<String> given, Function<String, T> parser) {
            if (index == given.size()) {
                throw new IllegalArgumentException(given.getLast() + " needs a value");
            }
            try {
                return parser.apply(given.get(index));
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException("%s does not take '%s'".formatted(given.get(index - 1),
                        given.get(index)), e);
            }
        }
    }

    private CheckCommand(Arguments arguments) {
        this.arguments = arguments;
    }

    /**
     * @param arguments what follows the command's name
     * @param words     what is said is put by
     * @return exit status: 0 they would start, 1 they would not, 2 the arguments are wrong
     */
    static int run(List<String> arguments, UnaryOperator<String> words, PrintStream out, PrintStream err) {
        Arguments parsed;
        try {
            parsed = Arguments.of(arguments);
        } catch (IllegalArgumentException e) {
            err.println(e.getMessage());
            return WRONG_ARGUMENTS;
        }
        var check = new CheckCommand(parsed);
        MemoryPlan plan = check.plan();
        check.warnings.forEach(warning -> out.println("warning: " + words.apply(warning)));
        check.problems.forEach(problem -> out.println("- " + words.apply(problem.sentence())));
        if (plan == null || !check.problems.isEmpty()) {
            return WOULD_NOT_START;
        }
        lines(plan).forEach(out::println);
        return WOULD_START;
    }

    /** @return null if there are problems */
    private @Nullable MemoryPlan plan() {
        var environment = new StandardEnvironment();
        environment.getPropertySources().addFirst(
                new SimpleCommandLinePropertySource(arguments.settings.toArray(String[]::new)));
        ServiceProcess.unknownSettings(Service.WORKER, environment)
                .forEach(unknown -> problems.add(new Problem(unknown, "")));
        GivenSettings given = GivenSettings.read(environment, problems);
        if (given.model() == null) {
            return null;
        }
        if (given.kv() == null || given.scheduler() == null || given.compute() == null) {
            ModelCheck files = ModelCheck.of(given.model().directory());
            problems.addAll(files.problems());
            writeMade(files.source());
            return null;
        }
        Preflight preflight = Preflight.of(given.model(), given.kv(), given.scheduler(), given.compute());
        problems.addAll(preflight.problems());
        warnings.addAll(preflight.warnings());
        writeMade(preflight.source());
        Preflight.Ready start = preflight.ready();
        if (start == null) {
            return null;
        }
        try (var _ = start.backend()) {
            return plan(start, given.kv(), given.model().sharedWeights());
        } catch (SettingsException e) {
            problems.addAll(e.problems());
            return null;
        }
    }

    private void writeMade(@Nullable ModelSource source) {
        if (source == null || arguments.made == null) {
            return;
        }
        for (String name : ModelFiles.LISTED) {
            try {
                if (source.file(name) instanceof ModelFile.Made(byte[] bytes)) {
                    Files.write(Files.createDirectories(arguments.made).resolve(name), bytes);
                }
            } catch (WeightFileException e) {
                // a problem that the look at the model has found
            } catch (IOException e) {
                problems.add(new Problem("what a router would read of the model cannot be written: "
                        + ModelCheck.said(e), ""));
            }
        }
    }

    private MemoryPlan plan(Preflight.Ready start, KvProperties kv, @Nullable Path sharedWeights) {
        long machine = arguments.machine == null ? Machine.memory() : arguments.machine.toBytes();
        var planner = new MemoryPlanner(start, kv,
                new MemoryPlanner.Given(machine, arguments.beside.toBytes(), arguments.heap,
                        canShare(start, sharedWeights)));
        MemoryPlan plan = arguments.workers != null ? planner.plan(arguments.workers) : usual(planner, start);
        int whole = start.config().contextLength();
        if (plan.config().contextLength() < whole) {
            warnings.add(start.shortened(plan.config().contextLength()));
        }
        long needed = plan.workers() * plan.neededBytes() + plan.sharedBytes() + arguments.beside.toBytes();
        long available = Math.min(Machine.availableMemory(), machine);
        if (needed > available) {
            warnings.add("the fleet will take " + Megabytes.text(needed) + ", and " + Megabytes.text(available)
                    + " are available now: end what else runs here, or it will be slow");
        }
        return plan;
    }

    /** Whoever has weights beside the heap and cannot share them is told why. */
    private boolean canShare(Preflight.Ready start, @Nullable Path folder) {
        if (folder == null || !start.backend().sharesWeights()) {
            return false;
        }
        String lack;
        try {
            lack = SharedWeights.lack(folder, start);
        } catch (IOException e) {
            lack = ModelCheck.said(e);
        }
        if (lack != null) {
            warnings.add("workers do not share weights: " + lack);
        }
        return lack == null;
    }

    /** Two, so that there is something to route; one where it alone has room, or room for the whole context. */
    private MemoryPlan usual(MemoryPlanner planner, Preflight.Ready start) {
        int whole = start.config().contextLength();
        MemoryPlan several;
        try {
            several = planner.plan(USUAL_WORKERS);
            if (several.config().contextLength() == whole) {
                return several;
            }
        } catch (SettingsException tooMany) {
            MemoryPlan one = planner.plan(1);
            warnings.add("one worker is started: there is no room for two");
            return one;
        }
        MemoryPlan one = planner.plan(1);
        if (one.config().contextLength() == several.config().contextLength()) {
            return several;
        }
        warnings.add(String.format(Locale.ROOT, "one worker is started: with two, the context would be %,d tokens",
                several.config().contextLength()));
        return one;
    }

    private static List<String> lines(MemoryPlan plan) {
        List<String> lines = new ArrayList<>(List.of("workers=" + plan.workers(),
                "heap=" + Megabytes.of(plan.heapBytes()) + "m",
                "young=" + Megabytes.of(plan.youngBytes()) + "m",
                "direct=" + Megabytes.of(MemoryPlanner.DIRECT_BYTES) + "m",
                "context=" + plan.config().contextLength(),
                "summary=" + String.format(Locale.ROOT, "a context of %,d tokens, a KV cache of %,d tokens",
                        plan.config().contextLength(), plan.cache().size().tokenCount())));
        if (plan.sharedBytes() > 0) {
            lines.add("share=yes");
        }
        DataSize memory = plan.kv().memory();
        if (memory != null) {
            lines.add("kv-memory=" + (memory.toBytes() % Megabytes.BYTES == 0 ? memory.toMegabytes() + "MB"
                    : memory.toBytes() + "B"));
        }
        return lines;
    }
}
