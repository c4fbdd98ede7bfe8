package dev.warmpath.cli.fleet;

import java.util.Map;

/** What a process finds in its environment. */
public final class Environments {

    private Environments() {}

    /**
     * Makes it so. What is as this program has found it is left alone, byte for byte: not every value is text, and one
     * that is written anew has question marks where it is not.
     */
    public static void make(ProcessBuilder builder, Map<String, String> wanted) {
        Map<String, String> environment = builder.environment();
        environment.keySet().removeIf(name -> !wanted.containsKey(name));
        wanted.forEach((name, value) -> {
            if (!value.equals(environment.get(name))) {
                environment.put(name, value);
            }
        });
    }
}
