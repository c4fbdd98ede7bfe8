package dev.warmpath.planner.output;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Properties;

/**
 * What a result comes from: with the same program, seed and inputs it comes out again.
 *
 * @param version of the program
 * @param commit  that it was built from; {@code unknown} outside of a build
 * @param seed    of all that was drawn
 */
public record Provenance(String version, String commit, long seed, List<Input> inputs) {

    private static final Properties BUILD = build();

    /**
     * What was read, or drawn.
     *
     * @param name     of the file as it was given, or of the generated load
     * @param format   that it turned out to have
     * @param sha256   of the file's bytes, in hex; empty of a generated load, which follows from the seed
     * @param requests in it
     */
    public record Input(String name, String format, String sha256, long requests) {}

    /** Of this program. */
    public static Provenance of(long seed, List<Input> inputs) {
        return new Provenance(BUILD.getProperty("build.version", "unknown"),
                BUILD.getProperty("build.commit", "unknown"), seed, List.copyOf(inputs));
    }

    /** Name, version and commit of this program, for {@code --version}. */
    public static String program() {
        Provenance own = of(0, List.of());
        return "warmpath plan " + own.version + ", commit " + own.commit;
    }

    /** One line, for the end of a table. */
    public String line() {
        var line = new StringBuilder("warmpath " + version + ", commit " + commit + ", seed " + seed);
        for (Input input : inputs) {
            line.append("; ").append(input.name()).append(" (").append(input.format()).append(", ")
                    .append(input.requests()).append(" requests");
            if (!input.sha256().isEmpty()) {
                line.append(", sha256 ").append(input.sha256());
            }
            line.append(')');
        }
        return line.toString();
    }

    private static Properties build() {
        var properties = new Properties();
        try (InputStream stream = Provenance.class.getResourceAsStream("/META-INF/build-info.properties")) {
            if (stream != null) {
                properties.load(stream);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return properties;
    }
}
