package dev.warmpath.cli.start;

import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.fleet.OwnersFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/**
 * What the fleet's processes find in their environment, secrets among it, since a list of processes shows arguments.
 */
public final class FleetEnvironment {

    public static final String REDIS_URI = "WARMPATH_REDIS_URI";
    /** What tells where Redis is. */
    private static final List<String> REDIS = List.of(REDIS_URI, "WARMPATH_REDIS_CLUSTER", "WARMPATH_REDIS_USERNAME",
            "WARMPATH_REDIS_PASSWORD", "WARMPATH_REDIS_CACERTIFICATE");
    private static final String FLEET_TOKEN = "WARMPATH_FLEET_TOKEN";
    private static final String MANAGEMENT_TOKEN = "WARMPATH_MANAGEMENT_TOKEN";
    private static final int TOKEN_BYTES = 32;

    private FleetEnvironment() {}

    /**
     * The caller's, and what is so of each fleet on one machine: nobody balances load between the routers, and whoever
     * stops the fleet waits, so answers get less time than the services' 120 s, and an error event, not a KILL, ends
     * those that are left. What workers say of settings is said in words of this command.
     */
    static Map<String, String> common(Installation installation) {
        Map<String, String> environment = new HashMap<>(installation.environment());
        environment.merge("WARMPATH_DRAIN_SETTLE", "0s", (given, usual) -> given.isEmpty() ? usual : given);
        environment.merge("WARMPATH_DRAIN_TIMEOUT", "15s", (given, usual) -> given.isEmpty() ? usual : given);
        environment.put("WARMPATH_LAUNCHER", "yes");
        return environment;
    }

    /** Adds the Redis of the fleet, or takes away what is set, and writes it down for {@code index}. */
    static void addRedis(Map<String, String> environment, Wishes wishes, Ports ports, Installation installation)
            throws IOException {
        environment.remove(REDIS_URI);
        if (wishes.redis().isEmpty()) {
            return;
        }
        if (wishes.redis().equals(Wishes.EMBEDDED)) {
            REDIS.forEach(environment::remove);
            environment.put(REDIS_URI, "redis://" + Ports.REDIS_HOST + ":" + ports.redis());
        } else {
            environment.put(REDIS_URI, wishes.redis());
        }
        StringBuilder lines = new StringBuilder();
        REDIS.stream().filter(name -> !environment.getOrDefault(name, "").isEmpty())
                .forEach(name -> lines.append(name).append('=').append(environment.get(name)).append('\n'));
        OwnersFile.write(redisFile(installation), lines.toString());
    }

    /** The running fleet's Redis, and no other one, in the place of the caller's; unchanged if it has none. */
    public static void readRedis(Map<String, String> environment, Installation installation) throws IOException {
        if (!Files.exists(redisFile(installation))) {
            return;
        }
        REDIS.forEach(environment::remove);
        for (String line : Files.readAllLines(redisFile(installation))) {
            int equals = line.indexOf('=');
            environment.put(line.substring(0, equals), line.substring(equals + 1));
        }
        if (Files.exists(installation.fleetToken())) {
            environment.put(FLEET_TOKEN, Files.readString(installation.fleetToken()));
        }
    }

    /** A fleet that others can reach refuses writes without these; one on loopback has none. */
    static void addTokens(Map<String, String> environment, Wishes wishes, Installation installation)
            throws IOException {
        if (wishes.isOnLoopback()) {
            environment.remove(FLEET_TOKEN);
            environment.remove(MANAGEMENT_TOKEN);
            Files.deleteIfExists(installation.fleetToken());
            Files.deleteIfExists(installation.managementToken());
        } else {
            environment.put(FLEET_TOKEN, make(installation.fleetToken()));
            environment.put(MANAGEMENT_TOKEN, make(installation.managementToken()));
        }
    }

    private static String make(Path file) throws IOException {
        byte[] random = new byte[TOKEN_BYTES];
        new SecureRandom().nextBytes(random);
        String token = HexFormat.of().formatHex(random);
        OwnersFile.write(file, token);
        return token;
    }

    private static Path redisFile(Installation installation) {
        return installation.state().resolve("redis");
    }
}
