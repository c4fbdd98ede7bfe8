package dev.warmpath.process;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName.Form;

/**
 * The names of all settings of the fleet, and which service has them, as the list in the jar has them: a line such as
 * {@code worker warmpath.kv.block-size}, {@code both …}, {@code worker warmpath.routerlink.urls[*]} for a list or
 * {@code router warmpath.fleet.revision-weights.*} for a table. The list is generated from the settings' metadata.
 */
final class SettingNames {

    static final String PREFIX = "warmpath";

    /** What the launcher, the build and the search for CUDA read from the environment; these stand for no setting. */
    static final Set<String> OTHER_VARIABLES = Set.of("WARMPATH_STATE", "WARMPATH_API_KEY", "WARMPATH_JDK_API",
            "WARMPATH_JDK_SEARCH", "WARMPATH_LAUNCHER", "WARMPATH_STALL_SECONDS", "WARMPATH_NVCC", "WARMPATH_CUBLASLT",
            "WARMPATH_CUDA_DRIVER", "WARMPATH_TRAIN_THREADS");

    /**
     * What Kubernetes sets in each pod for each Service of its namespace, after the Service's name: with one that is
     * called {@code warmpath-router}, {@code WARMPATH_ROUTER_PORT_8080_TCP_ADDR}. No setting ends so.
     */
    private static final Pattern SERVICE_LINK = Pattern.compile("WARMPATH(_[A-Z0-9_]+)?_"
            + "(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_\\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)");
    private static final String LIST = "[*]";
    private static final String TABLE = ".*";
    /** Longer names are compared by their beginning. */
    private static final int MAX_COMPARED = 128;

    private final Service service;
    /** Without the marks of lists and tables. */
    private final Map<ConfigurationPropertyName, Owner> owners = new HashMap<>();
    private final Set<ConfigurationPropertyName> lists = new HashSet<>();
    private final Set<ConfigurationPropertyName> tables = new HashSet<>();

    private enum Owner {
        BOTH, ROUTER, WORKER;

        boolean is(Service service) {
            return this == BOTH || name().equals(service.name());
        }
    }

    SettingNames(Service service, List<String> lines) {
        this.service = service;
        for (String line : lines) {
            String[] words = line.split(" ");
            String key = words[1].replace(LIST, "");
            boolean isTable = key.endsWith(TABLE);
            var name = ConfigurationPropertyName.of(isTable ? key.substring(0, key.length() - TABLE.length()) : key);
            owners.put(name, Owner.valueOf(words[0].toUpperCase(Locale.ROOT)));
            if (isTable) {
                tables.add(name);
            } else if (words[1].endsWith(LIST)) {
                lists.add(name);
            }
        }
    }

    /** Those of this build. */
    static SettingNames of(Service service) {
        try (InputStream list = Objects.requireNonNull(SettingNames.class.getResourceAsStream("settings.txt"))) {
            return new SettingNames(service, new String(list.readAllBytes(), StandardCharsets.UTF_8).lines().toList());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * What is wrong with a name from a file, an argument, or whatever else is no environment variable.
     *
     * @return null if nothing is, or if it is none of ours
     */
    @Nullable String problemOf(String given) {
        var name = ConfigurationPropertyName.adapt(given, '.');
        if (name.getNumberOfElements() < 2 || !name.getElement(0, Form.UNIFORM).equals(PREFIX)) {
            return null;
        }
        var found = settingOf(name);
        if (found == null) {
            return given + " is no setting; the nearest one is " + nearest(given, owner -> owner.is(service));
        }
        Owner owner = owners.get(found);
        return owner != null && owner.is(service) ? null
                : given + " is a setting of the " + (service == Service.ROUTER ? Service.WORKER : Service.ROUTER)
                        + ", not of the " + service;
    }

    /** The same for a variable of the environment, which processes of a fleet may share: the other service's pass. */
    @Nullable String problemOfVariable(String given) {
        String variable = given.toUpperCase(Locale.ROOT);
        if (!variable.startsWith(PREFIX.toUpperCase(Locale.ROOT)) || OTHER_VARIABLES.contains(variable)
                || SERVICE_LINK.matcher(variable).matches()) {
            return null;
        }
        if (variable.indexOf('.') >= 0) {                          // no shell's, but env and containers can
            var name = ConfigurationPropertyName.adapt(given, '.');
            return name.getNumberOfElements() < 2 || settingOf(name) != null ? null : unknownVariable(given);
        }
        return !variable.startsWith("WARMPATH_") || owners.keySet().stream().anyMatch(name -> isFor(name, variable))
                ? null : unknownVariable(given);
    }

    private String unknownVariable(String given) {
        var nearest = ConfigurationPropertyName.of(nearest(given, _ -> true));
        return given + " stands for no setting; the nearest one is " + variables(nearest).getFirst()
                + " (" + nearest + ")";
    }

    /** @return the setting that the name is, or is a part of */
    private @Nullable ConfigurationPropertyName settingOf(ConfigurationPropertyName name) {
        if (owners.containsKey(name)) {
            return name;
        }
        if (name.isLastElementIndexed() && lists.contains(name.getParent())) {
            return name.getParent();
        }
        return tables.stream().filter(table -> table.isAncestorOf(name)).findFirst().orElse(null);
    }

    private boolean isFor(ConfigurationPropertyName setting, String variable) {
        return variables(setting).stream().anyMatch(own -> variable.equals(own)
                || lists.contains(setting) && variable.matches(own + "_\\d+_?")
                || tables.contains(setting) && variable.startsWith(own + "_"));
    }

    /** Spring Boot takes hyphens left out, and also, from old times, hyphens as underscores. */
    private static List<String> variables(ConfigurationPropertyName setting) {
        String dashed = setting.toString().toUpperCase(Locale.ROOT).replace('.', '_');
        return List.of(dashed.replace("-", ""), dashed.replace('-', '_'));
    }

    private String nearest(String given, Predicate<Owner> owned) {
        String sought = letters(given.length() > MAX_COMPARED ? given.substring(0, MAX_COMPARED) : given);
        return owners.keySet().stream().filter(name -> owned.test(owners.get(name)))
                .map(ConfigurationPropertyName::toString).sorted()
                .min(Comparator.comparingInt(name -> distance(letters(name), sought))).orElse(PREFIX);
    }

    private static String letters(String name) {
        return name.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]", "");
    }

    /** Levenshtein's: characters to be added, left out or replaced. */
    static int distance(String a, String b) {
        int[] row = new int[b.length() + 1];
        Arrays.setAll(row, j -> j);
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int replaced = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[b.length()];
    }
}
