package dev.warmpath.cli.start;

import static java.util.Map.entry;

import dev.warmpath.cli.build.Service;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A setting given by {@code --set}, for all processes that have it, or for one kind of them. */
public record Setting(Set<Service> services, String name, String value) {

    private static final Pattern GIVEN = Pattern.compile("(?:(router|worker):)?(warmpath\\.[^=\\s]+)=(.*)");
    /** These have options, or follow from where a process stands. */
    private static final Map<String, String> TAKEN = Map.ofEntries(
            entry("warmpath.model.directory", "--model"), entry("warmpath.model.context-length", "--context"),
            entry("warmpath.model.quantization", "--quantization"), entry("warmpath.kv.memory", "--kv-memory"),
            entry("warmpath.compute.backend", "--backend"), entry("warmpath.engine.kind", "--engine"),
            entry("warmpath.engine.url", "--engine"), entry("warmpath.routerlink.urls", "--routers"),
            entry("warmpath.worker.base-url", "--host and --port"), entry("warmpath.worker.id", "--workers"),
            entry("warmpath.redis.uri", "--redis, or WARMPATH_REDIS_URI where others could read it,"),
            entry("warmpath.fleet.token", "--host, which makes one,"),
            entry("warmpath.management.token", "--host, which makes one,"));
    /** A list of processes shows arguments to everybody on the machine. */
    private static final Pattern SECRET = Pattern.compile("warmpath\\..*\\b(password|(previous-)?token|api-key)");

    public Setting {
        services = Set.copyOf(services);
    }

    /** @throws IllegalArgumentException in a sentence, if there is no such setting, or it is not that kind's */
    public static Setting of(String given, KnownSettings known) {
        Matcher form = GIVEN.matcher(given);
        if (!form.matches()) {
            throw new IllegalArgumentException("--set takes NAME=VALUE, such as warmpath.kv.block-size=32, and before "
                    + "it router: or worker: if it is for these only, not '" + given + "'");
        }
        String name = form.group(2);
        Set<Service> owners = known.owners(name);
        if (owners.isEmpty()) {
            throw new IllegalArgumentException("--set " + name + ": there is no such setting; docs/settings.md lists "
                    + "them");
        }
        if (TAKEN.containsKey(name)) {
            throw new IllegalArgumentException("--set " + name + ": that is what " + TAKEN.get(name) + " is for");
        }
        if (SECRET.matcher(name).matches()) {
            throw new IllegalArgumentException("--set " + name + ": everybody on this machine can read arguments; set "
                    + name.toUpperCase(Locale.ROOT).replace('.', '_').replace("-", "") + " in the environment");
        }
        if (form.group(1) == null) {
            return new Setting(owners, name, form.group(3));
        }
        Service service = form.group(1).equals("router") ? Service.ROUTER : Service.WORKER;
        if (!owners.contains(service)) {
            throw new IllegalArgumentException("--set " + given + ": that is no setting of a " + form.group(1));
        }
        return new Setting(Set.of(service), name, form.group(3));
    }

    /** @return the arguments with those of these settings that the service has, in the place of what they had */
    static List<String> applied(List<Setting> settings, Service service, List<String> arguments) {
        List<String> applied = new ArrayList<>(arguments);
        for (Setting setting : settings) {
            if (setting.services.contains(service)) {
                String beginning = "--" + setting.name + "=";
                applied.removeIf(argument -> argument.startsWith(beginning));
                applied.add(beginning + setting.value);
            }
        }
        return applied;
    }
}
