package dev.warmpath.worker;

import dev.warmpath.process.Service;
import dev.warmpath.process.ServiceProcess;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.SimpleCommandLinePropertySource;
import org.springframework.core.env.StandardEnvironment;

/**
 * Tells whether running engines are started as workers beside them want it.
 *
 * <pre>
 * doctor --engine KIND=URL [--engine KIND=URL …] [--model DIR] [--warmpath.…=…]
 * </pre>
 * Other settings as a worker has them, by arguments or from the environment, the same for all engines. What is found is
 * a line each: {@code ok}, {@code warning}, or {@code missing} if something must be changed.
 */
final class DoctorCommand {

    static final String NAME = "doctor";
    static final int FINE = 0;
    static final int SOMETHING_MISSING = 1;
    static final int WRONG_ARGUMENTS = 2;

    private static final String USAGE = "it takes --engine KIND=URL, such as vllm=http://127.0.0.1:8000, and "
            + "--model DIR";

    private final Arguments arguments;
    private final Duration patience;
    private final UnaryOperator<String> words;
    private final PrintStream out;

    /**
     * What is asked for.
     *
     * @param engines a kind and an address each, with = between them; at least one
     * @param model   null: there is none to compare with
     */
    private record Arguments(List<String> engines, @Nullable String model, List<String> settings) {

        /** @throws IllegalArgumentException in a sentence */
        static Arguments of(List<String> given) {
            List<String> engines = new ArrayList<>();
            String model = null;
            List<String> settings = new ArrayList<>();
            for (int i = 0; i < given.size(); i++) {
                String argument = given.get(i);
                if (argument.startsWith("--warmpath.") && argument.contains("=")) {
                    settings.add(argument);
                    continue;
                }
                int equals = argument.indexOf('=');
                String name = equals < 0 ? argument : argument.substring(0, equals);
                if (!name.equals("--engine") && !name.equals("--model")) {
                    throw new IllegalArgumentException("doctor does not know '" + argument + "'; " + USAGE);
                }
                String value = equals >= 0 ? argument.substring(equals + 1) : ++i < given.size() ? given.get(i) : "";
                if (value.isEmpty()) {
                    throw new IllegalArgumentException(name + " needs a value; " + USAGE);
                }
                if (name.equals("--model")) {
                    model = value;
                } else if (value.matches("(vllm|sglang|openai)=https?://.+")) {
                    engines.add(value);
                } else {
                    throw new IllegalArgumentException("--engine takes KIND=URL, such as vllm=http://127.0.0.1:8000, "
                            + "with vllm, sglang or openai, not '" + value + "'");
                }
            }
            if (engines.isEmpty()) {
                throw new IllegalArgumentException("doctor needs an engine to look at; " + USAGE);
            }
            return new Arguments(engines, model, settings);
        }
    }

    private DoctorCommand(Arguments arguments, Duration patience, UnaryOperator<String> words, PrintStream out) {
        this.arguments = arguments;
        this.patience = patience;
        this.words = words;
        this.out = out;
    }

    /**
     * @param arguments what follows the command's name
     * @param words     what is said is put by
     * @return exit status: 0 nothing must be changed, 1 something must, 2 the arguments are wrong
     */
    static int run(List<String> arguments, UnaryOperator<String> words, PrintStream out, PrintStream err) {
        return run(arguments, EngineDoctor.PATIENCE, words, out, err);
    }

    /** @param patience for events that should come; the others as above */
    static int run(List<String> arguments, Duration patience, UnaryOperator<String> words, PrintStream out,
            PrintStream err) {
        DoctorCommand doctor;
        try {
            doctor = new DoctorCommand(Arguments.of(arguments), patience, words, out);
        } catch (IllegalArgumentException e) {
            err.println(e.getMessage());
            return WRONG_ARGUMENTS;
        }
        boolean isFine = true;
        for (String engine : doctor.arguments.engines) {
            isFine &= doctor.isFine(engine);
        }
        return isFine ? FINE : SOMETHING_MISSING;
    }

    private boolean isFine(String engine) {
        out.println(engine);
        StandardEnvironment environment = environment(engine);
        List<Problem> problems = new ArrayList<>();
        ServiceProcess.unknownSettings(Service.WORKER, environment)
                .forEach(unknown -> problems.add(new Problem(unknown, "")));
        var properties = GivenSettings.read(environment, "engine", EngineProperties.class, problems);
        var kv = GivenSettings.read(environment, "kv", KvProperties.class, problems);
        ModelProperties model = arguments.model == null ? null
                : GivenSettings.read(environment, "model", ModelProperties.class, problems);
        problems.forEach(problem -> tell(Finding.missing(problem.sentence())));
        if (properties == null || kv == null || !problems.isEmpty()) {
            return false;
        }
        return new EngineDoctor(properties, kv, model, this::tell, patience).examine();
    }

    private StandardEnvironment environment(String engine) {
        int equals = engine.indexOf('=');
        Map<String, Object> given = new HashMap<>(Map.of("warmpath.engine.kind", engine.substring(0, equals),
                "warmpath.engine.url", engine.substring(equals + 1)));
        if (arguments.model != null) {
            given.put("warmpath.model.directory", arguments.model);
        }
        var environment = new StandardEnvironment();
        environment.getPropertySources().addFirst(
                new SimpleCommandLinePropertySource(arguments.settings.toArray(String[]::new)));
        environment.getPropertySources().addFirst(new MapPropertySource("engine", given));
        return environment;
    }

    private void tell(Finding finding) {
        out.println("  " + finding.line(words));
    }
}
