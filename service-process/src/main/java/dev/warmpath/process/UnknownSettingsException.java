package dev.warmpath.process;

import dev.warmpath.protocol.process.ForeignText;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.SystemEnvironmentPropertySource;

/**
 * Somebody gave a setting that does not exist. Spring would leave it out without a word, and the process would run
 * with another value than its operator believes.
 */
final class UnknownSettingsException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private static final int MAX_NAMED = 10;
    private static final int MAX_CHARS = 300;

    private UnknownSettingsException(String message) {
        super(message);
    }

    static void check(ConfigurableEnvironment environment, SettingNames names) {
        List<String> problems = problems(environment, names);
        if (!problems.isEmpty()) {
            throw new UnknownSettingsException(String.join(System.lineSeparator(), problems));
        }
    }

    /** Looks at names alone, wherever they come from: a value may be a secret. */
    static List<String> problems(ConfigurableEnvironment environment, SettingNames names) {
        Set<String> problems = new TreeSet<>();
        environment.getPropertySources().forEach(source -> {
            if (source instanceof EnumerablePropertySource<?> all) {
                for (String name : all.getPropertyNames()) {
                    @Nullable String problem = source instanceof SystemEnvironmentPropertySource
                            ? names.problemOfVariable(name) : names.problemOf(name);
                    if (problem != null) {
                        problems.add(ForeignText.oneLine(problem, MAX_CHARS) + " (" + source.getName() + ")");
                    }
                }
            }
        });
        List<String> named = new ArrayList<>(problems.stream().limit(MAX_NAMED).toList());
        if (problems.size() > MAX_NAMED) {
            named.add("and " + (problems.size() - MAX_NAMED) + " more");
        }
        return named;
    }

    /** Prints the sentences in place of a stack trace. Named in META-INF/spring.factories. */
    static final class Analyzer extends AbstractFailureAnalyzer<UnknownSettingsException> {
        @Override
        protected FailureAnalysis analyze(Throwable rootFailure, UnknownSettingsException cause) {
            return new FailureAnalysis(cause.getMessage(),
                    "Correct the name or leave it out; docs/settings.md lists all settings", cause);
        }
    }
}
