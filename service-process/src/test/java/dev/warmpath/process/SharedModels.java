package dev.warmpath.process;

import java.nio.file.Path;

/** Models too large for a repository, which may lie beside the checkout or further up, under {@code shared/models}. */
public final class SharedModels {

    private SharedModels() {}

    /** Skips the test, and says so, where it is not there. @param name of the model's folder */
    public static Path find(String name) {
        return SharedFiles.find("models/" + name);
    }
}
