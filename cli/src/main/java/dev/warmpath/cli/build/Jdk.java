package dev.warmpath.cli.build;

import java.nio.file.Path;

/** The JDK that runs this program, which builds and runs everything else, too. */
public final class Jdk {

    private Jdk() {}

    public static Path home() {
        return Path.of(System.getProperty("java.home"));
    }

    /** @param name such as {@code java} */
    public static String tool(String name) {
        return home().resolve("bin").resolve(name).toString();
    }
}
