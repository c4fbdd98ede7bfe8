package dev.warmpath.cli.fleet;

import java.net.URI;
import java.util.Locale;

/**
 * A process of the fleet: a line of the fleet file.
 *
 * @param started as {@link ProcessTable#startedAt} tells it: a pid alone may be somebody else's by now
 * @param port    of its API; its management port is 1000 above
 */
public record FleetMember(Role role, String id, long pid, String started, int port, URI url) {

    /** From a port to that of its management. */
    public static final int MANAGEMENT_OFFSET = 1000;

    /** @throws IllegalArgumentException if it is no line of a fleet file */
    static FleetMember of(String line) {
        String[] words = line.split(" ");
        if (words.length != 6) {
            throw new IllegalArgumentException("no line of a fleet: '" + line + "'");
        }
        return new FleetMember(Role.valueOf(words[0].toUpperCase(Locale.ROOT)), words[1], Long.parseLong(words[2]),
                words[3], Integer.parseInt(words[4]), URI.create(words[5]));
    }

    public boolean isRunning() {
        return ProcessTable.isOurs(pid, started);
    }

    /** @param path from the root of its management port */
    public URI management(String path) {
        int port = url.getPort() + MANAGEMENT_OFFSET;
        return URI.create(url.getScheme() + "://" + url.getRawAuthority().replaceAll(":\\d+$", ":" + port) + path);
    }

    String line() {
        return "%s %s %d %s %d %s\n".formatted(role, id, pid, started, port, url);
    }
}
