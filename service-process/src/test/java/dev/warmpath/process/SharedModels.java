package dev.warmpath.process;

import static org.junit.jupiter.api.Assumptions.abort;

import java.nio.file.Files;
import java.nio.file.Path;

/** Models too large for a repository, which may lie beside the checkout or further up, under {@code shared/models}. */
public final class SharedModels {

    private static final Path FOLDER = Path.of("shared", "models");

    private SharedModels() {}

    /** Skips the test, and says so, where it is not there. @param name of the model's folder */
    public static Path find(String name) {
        for (Path folder = Path.of("").toAbsolutePath(); folder != null; folder = folder.getParent()) {
            Path model = folder.resolve(FOLDER).resolve(name);
            if (Files.isDirectory(model)) {
                return model;
            }
        }
        String reason = "LEFT OUT: what needs %s, which is not here".formatted(FOLDER.resolve(name));
        System.out.println(reason);
        return abort(reason);
    }
}
