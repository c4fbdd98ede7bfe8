package dev.warmpath.worker;

import java.util.List;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/** Lets a start that ends in a {@link SettingsException} print what is wrong and what to do. Before Spring's own. */
@Order(Ordered.HIGHEST_PRECEDENCE)
final class SettingsFailureAnalyzer extends AbstractFailureAnalyzer<SettingsException> {

    private static final UnaryOperator<String> WORDS = LauncherWords.here();

    @Override
    protected FailureAnalysis analyze(Throwable start, SettingsException cause) {
        List<Problem> problems = cause.problems();
        if (problems.size() == 1) {
            return new FailureAnalysis(WORDS.apply(problems.getFirst().contradiction()),
                    WORDS.apply(problems.getFirst().remedy()), cause);
        }
        return new FailureAnalysis(numbered(problems, Problem::contradiction), numbered(problems, Problem::remedy),
                cause);
    }

    private static String numbered(List<Problem> problems, Function<Problem, String> part) {
        return IntStream.range(0, problems.size()).filter(i -> !part.apply(problems.get(i)).isEmpty())
                .mapToObj(i -> "%d. %s".formatted(i + 1, WORDS.apply(part.apply(problems.get(i)))))
                .collect(Collectors.joining(System.lineSeparator()));
    }
}
