package dev.warmpath.cli.doctor;

import dev.warmpath.cli.start.Ports;
import java.net.URI;
import java.util.function.Consumer;

/** Looks whether the Redis that a fleet would use is there. */
final class RedisDoctor {

    private static final int USUAL_PORT = 6379;
    private static final int USUAL_SENTINEL_PORT = 26379;

    private RedisDoctor() {}

    /** @param uri as WARMPATH_REDIS_URI has it; it may hold a password, which is not told */
    static void look(String uri, Consumer<Finding> findings) {
        URI parsed;
        try {
            parsed = URI.create(uri);
        } catch (IllegalArgumentException e) {
            findings.accept(Finding.missing("WARMPATH_REDIS_URI is no URI; it looks like redis://host:6379"));
            return;
        }
        String authority = parsed.getRawAuthority() == null ? "" : parsed.getRawAuthority().replaceFirst("^.*@", "");
        int usual = String.valueOf(parsed.getScheme()).contains("sentinel") ? USUAL_SENTINEL_PORT : USUAL_PORT;
        for (String node : authority.split(",")) {
            int colon = node.lastIndexOf(':');
            boolean hasPort = colon >= 0 && node.substring(colon + 1).matches("\\d{1,5}");
            String host = (hasPort ? node.substring(0, colon) : node).replaceAll("[\\[\\]]", "");
            int port = hasPort ? Integer.parseInt(node.substring(colon + 1)) : usual;
            findings.accept(Ports.isListening(host, port) ? Finding.ok("Redis can be reached at " + host + ":" + port)
                    : Finding.missing("nobody answers at " + host + ":" + port + ", where Redis should be: start it, "
                            + "or set WARMPATH_REDIS_URI to where it is. A fleet serves without, and shares no index"));
        }
    }
}
