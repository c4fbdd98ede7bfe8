package dev.warmpath.worker;

import java.util.List;
import java.util.stream.Collectors;

/**
 * Settings that cannot all be followed: with each other, with the model, or with this machine; or a model that cannot
 * be served. Found before the weights are loaded, except that a device has too little memory for them or beside them;
 * {@link SettingsFailureAnalyzer} prints it instead of a stack trace.
 */
final class SettingsException extends RuntimeException {

    private static final long serialVersionUID = 1;

    private final transient List<Problem> problems;

    /** See {@link Problem}. */
    SettingsException(String contradiction, String remedy) {
        this(List.of(new Problem(contradiction, remedy)));
    }

    /** @param cause what the device said */
    SettingsException(String contradiction, String remedy, Throwable cause) {
        this(contradiction, remedy);
        initCause(cause);
    }

    /** @param problems at least one */
    SettingsException(List<Problem> problems) {
        super(problems.stream().map(Problem::sentence).collect(Collectors.joining(System.lineSeparator())));
        this.problems = List.copyOf(problems);
    }

    List<Problem> problems() {
        return problems;
    }

    /** Of the first one. */
    String contradiction() {
        return problems.getFirst().contradiction();
    }
}
