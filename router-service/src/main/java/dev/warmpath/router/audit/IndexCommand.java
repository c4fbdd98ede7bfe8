package dev.warmpath.router.audit;

import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.redislink.BlockingReads;
import dev.warmpath.redislink.RedisLink;
import dev.warmpath.redislink.RedisProperties;
import dev.warmpath.router.fleetlink.log.RedisContents;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisException;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.core.env.Environment;
import org.springframework.core.env.SimpleCommandLinePropertySource;
import org.springframework.core.env.StandardEnvironment;
import tools.jackson.databind.json.JsonMapper;

/**
 * Reads the index that lies in Redis and verifies it, with no router running.
 *
 * <pre>
 * index [--redis URI] [--json]
 * </pre>
 * Settings as a router has them: {@code WARMPATH_REDIS_URI}, {@code WARMPATH_REDIS_PASSWORD},
 * {@code WARMPATH_FLEET_TOKEN} and so on, or {@code --warmpath.redis.cluster=true}. The environment keeps secrets out
 * of the list of processes.
 */
public final class IndexCommand {

    public static final String NAME = "index";
    private static final int HOLDS = 0;
    private static final int DOES_NOT_HOLD = 1;
    private static final int CANNOT_TELL = 2;

    private IndexCommand() {}

    /**
     * @param arguments what follows the command's name
     * @return exit status: 0 all of it holds, 1 something does not, 2 it cannot be told
     */
    public static int run(List<String> arguments, PrintStream out, PrintStream err) {
        try {
            List<String> settings = new ArrayList<>(arguments);
            boolean asJson = settings.remove("--json");
            int uri = settings.indexOf("--redis") + 1;
            if (uri > 0 && uri < settings.size()) {
                settings.set(uri - 1, "--warmpath.redis.uri=" + settings.remove(uri));
            }
            for (String setting : settings) {
                if (!setting.startsWith("--warmpath.") || !setting.contains("=")) {
                    throw new IllegalArgumentException("index does not know '" + setting
                            + "'; it takes --redis URI, --json and settings as --warmpath.redis.cluster=true");
                }
            }
            IndexReport report = audit(settings);
            out.print(asJson ? JsonMapper.builder().build().writerWithDefaultPrettyPrinter()
                    .writeValueAsString(report) + System.lineSeparator() : report.text());
            return report.holds() ? HOLDS : DOES_NOT_HOLD;
        } catch (RedisConnectionException e) {
            err.println(e.getMessage());
        } catch (BindException e) {
            err.println(root(e).getMessage());
        } catch (IllegalArgumentException | RedisException e) {
            err.println(e.getMessage() + (e.getCause() == null ? "" : ": " + root(e).getMessage()));
        }
        return CANNOT_TELL;
    }

    private static IndexReport audit(List<String> settings) {
        var environment = new StandardEnvironment();
        environment.getPropertySources().addFirst(
                new SimpleCommandLinePropertySource(settings.toArray(String[]::new)));
        RedisProperties properties =
                Binder.get(environment).bindOrCreate("warmpath.redis", RedisProperties.class);
        if (!properties.isSet()) {
            throw new IllegalArgumentException("no Redis is named: give --redis URI, or set WARMPATH_REDIS_URI");
        }
        FleetToken token = FleetToken.of(text(environment, "warmpath.fleet.token"),
                text(environment, "warmpath.fleet.previous-token"));
        try (RedisLink link = RedisLink.forReads(properties); BlockingReads reads = link.openReads(Duration.ZERO)) {
            return IndexAudit.run(
                    link.describe(), new RedisContents(reads.commands()), properties.eventStreams(), token);
        }
    }

    private static @Nullable String text(Environment environment, String name) {
        return Binder.get(environment).bind(name, String.class).orElse(null);
    }

    private static Throwable root(Throwable e) {
        Throwable root = e;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root;
    }
}
