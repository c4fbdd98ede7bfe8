package dev.warmpath.process;

import static org.junit.jupiter.api.Assumptions.abort;

import java.nio.file.Files;
import java.nio.file.Path;

/** What is too large for a repository, and may lie beside the checkout or further up, under {@code shared}. */
public final class SharedFiles {

    private SharedFiles() {}

    /** Skips the test, and says so, where it is not there. @param path of a folder, below {@code shared} */
    public static Path find(String path) {
        Path wanted = Path.of("shared").resolve(path);
        for (Path folder = Path.of("").toAbsolutePath(); folder != null; folder = folder.getParent()) {
            if (Files.isDirectory(folder.resolve(wanted))) {
                return folder.resolve(wanted);
            }
        }
        String reason = "LEFT OUT: what needs %s, which is not here".formatted(wanted);
        System.out.println(reason);
        return abort(reason);
    }
}
