package dev.warmpath.chart;

import com.marcnuri.helm.Helm;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The chart of this repository, rendered as for a first install unless something is said to be there. */
final class Chart {

    static final Path DIRECTORY = Path.of("../helm/warmpath");
    static final Path EXAMPLES = Path.of("../helm/examples");
    static final String RELEASE = "demo";
    static final String NAMESPACE = "llm";

    /** What the chart believes to be installed into; the oldest that it takes. */
    private static final String KUBERNETES = "v1.30.0";

    /** Helm's library leaves hooks out, and one of them is the test's pod. */
    private static final String HOOK = "helm.sh/hook:";

    private static final String NO_HOOK = "helm.sh/rendered-hook:";
    private static final Path WITHOUT_HOOKS = copyWithoutHooks();

    private static final ApiServer CLUSTER = ApiServer.start();

    private Chart() {}

    static Rendered withoutValues() {
        return render("{}");
    }

    /**
     * @param values YAML
     * @throws IllegalStateException if the chart refuses them, with the reason
     */
    static Rendered render(String values) {
        return render(values, Map.of());
    }

    /** @param secrets those that are in the cluster, by name */
    static Rendered render(String values, Map<String, Map<String, String>> secrets) {
        return render(values, secrets, Map.of());
    }

    /**
     * @param secrets those that are in the cluster, by name
     * @param replicas of Deployments that are in the cluster, by name
     */
    static Rendered render(
            String values, Map<String, Map<String, String>> secrets, Map<String, Integer> replicas) {
        try {
            Path file = Files.createTempFile("values", ".yaml");
            try {
                Files.writeString(file, values);
                CLUSTER.keep(secrets, replicas);
                String text = new Helm(WITHOUT_HOOKS)
                        .template()
                        .withName(RELEASE)
                        .withNamespace(NAMESPACE)
                        .withKubeVersion(KUBERNETES)
                        .withValuesFile(file)
                        .call();
                return Rendered.of(text.replace(NO_HOOK, HOOK));
            } finally {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Path copyWithoutHooks() {
        Path copy = Path.of("target/chart");
        try (Stream<Path> files = Files.walk(DIRECTORY)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Path target = copy.resolve(DIRECTORY.relativize(file));
                Files.createDirectories(target.getParent());
                Files.writeString(target, Files.readString(file).replace(HOOK, NO_HOOK));
            }
            removeWhatIsGone(copy);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return copy;
    }

    private static void removeWhatIsGone(Path copy) throws IOException {
        List<Path> old;
        try (Stream<Path> files = Files.walk(copy)) {
            old = files.filter(Files::isRegularFile)
                    .filter(file -> !Files.exists(DIRECTORY.resolve(copy.relativize(file))))
                    .toList();
        }
        for (Path file : old) {
            Files.delete(file);
        }
    }
}
