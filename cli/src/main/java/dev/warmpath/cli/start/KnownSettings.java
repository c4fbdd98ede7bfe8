package dev.warmpath.cli.start;

import dev.warmpath.cli.build.Service;
import dev.warmpath.cli.fleet.Installation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/** The settings of both services by their names, as the list in the sources has them. */
public final class KnownSettings {

    private static final Path LIST = Path.of("service-process/src/main/resources/dev/warmpath/process/settings.txt");
    private static final String LIST_MARK = "[*]";
    private static final String TABLE_MARK = ".*";
    /** What this command, the build and the search for CUDA read; these stand for no setting. */
    private static final Set<String> OTHER_VARIABLES = Set.of("WARMPATH_STATE", "WARMPATH_API_KEY", "WARMPATH_JDK_API",
            "WARMPATH_JDK_SEARCH", "WARMPATH_LAUNCHER", "WARMPATH_STALL_SECONDS", "WARMPATH_NVCC", "WARMPATH_CUBLASLT",
            "WARMPATH_CUDA_DRIVER", "WARMPATH_TRAIN_THREADS");
    /** What Kubernetes sets for each Service of a pod's namespace, whose name stands before it. */
    private static final Pattern SERVICE_LINK = Pattern.compile("WARMPATH(_[A-Z0-9_]+)?_"
            + "(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_\\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)");

    private final Map<String, Set<Service>> owners = new LinkedHashMap<>();

    /** Those of this checkout. */
    public static KnownSettings of(Installation installation) throws IOException {
        var known = new KnownSettings();
        for (String line : Files.readAllLines(installation.home().resolve(LIST))) {
            String[] words = line.split(" ");
            known.owners.put(words[1], words[0].equals("both") ? EnumSet.copyOf(Service.FLEET)
                    : EnumSet.of(Service.valueOf(words[0].toUpperCase(Locale.ROOT))));
        }
        return known;
    }

    /** @return whose it is; nobody's if there is no setting of this name */
    Set<Service> owners(String name) {
        Set<Service> owner = owners.get(name.replaceFirst("\\[\\d+]$", LIST_MARK));
        if (owner != null || owners.containsKey(name + LIST_MARK)) {
            return owner != null ? owner : owners.getOrDefault(name + LIST_MARK, Set.of());
        }
        return owners.entrySet().stream().filter(each -> each.getKey().endsWith(TABLE_MARK)
                && name.startsWith(each.getKey().substring(0, each.getKey().length() - 1)))
                .map(Map.Entry::getValue).findFirst().orElse(Set.of());
    }

    /** Whether a variable of the environment, whose name begins with {@code WARMPATH_}, means nothing to anybody. */
    public boolean isUnknown(String variable) {
        return !OTHER_VARIABLES.contains(variable) && !SERVICE_LINK.matcher(variable).matches()
                && owners.keySet().stream().noneMatch(name -> {
            String bare = name.replace(LIST_MARK, "").replace(TABLE_MARK, "").toUpperCase(Locale.ROOT)
                    .replace('.', '_');
            return isFor(variable, bare.replace("-", ""), name) || isFor(variable, bare.replace('-', '_'), name);
        });
    }

    private static boolean isFor(String variable, String own, String name) {
        return variable.equals(own) || name.endsWith(LIST_MARK) && variable.matches(own + "_\\d+_?")
                || name.endsWith(TABLE_MARK) && variable.startsWith(own + "_");
    }
}
