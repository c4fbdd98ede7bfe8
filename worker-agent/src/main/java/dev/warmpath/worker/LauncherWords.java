package dev.warmpath.worker;

import java.util.Locale;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/**
 * Advice for somebody who has typed {@code ./warmpath up}, and knows its options and the environment, but neither
 * properties nor the flags of a JVM.
 */
final class LauncherWords {

    /** Set by the launcher for the processes that it starts. */
    private static final String VARIABLE = "WARMPATH_LAUNCHER";

    private static final Map<String, String> OPTIONS = Map.of(
            "warmpath.model.directory", "--model",
            "warmpath.model.context-length", "--context",
            "warmpath.model.quantization", "--quantization",
            "warmpath.kv.memory", "--kv-memory",
            "warmpath.compute.backend", "--backend");
    /** A setting's name, and what gives it a value. */
    private static final Pattern SETTING = Pattern.compile("(?<![/\\w.-])(warmpath(?:\\.[a-z][a-z-]*[a-z])+)(=?)");
    private static final Pattern HEAP = Pattern.compile("-Xmx(?:(\\d+)m)?");

    private LauncherWords() {}

    /** What people read of this process is put by: as it is, unless the launcher has started it. */
    static UnaryOperator<String> here() {
        return System.getenv(VARIABLE) == null ? UnaryOperator.identity() : LauncherWords::of;
    }

    /** Settings that the launcher has no option for are named as variables, which it passes on. */
    static String of(String advice) {
        String heap = HEAP.matcher(advice).replaceAll(flag ->
                flag.group(1) == null ? "--heap" : "--heap " + flag.group(1) + "MB");
        return SETTING.matcher(heap).replaceAll(LauncherWords::word);
    }

    private static String word(MatchResult setting) {
        String option = OPTIONS.get(setting.group(1));
        if (option != null) {
            return setting.group(2).isEmpty() ? option : option + " ";
        }
        return setting.group(1).replace('.', '_').replace("-", "").toUpperCase(Locale.ROOT) + setting.group(2);
    }
}
