package dev.warmpath.redislink;

import dev.warmpath.protocol.redis.RedisLayout;
import io.lettuce.core.RedisCredentials;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.RedisClusterURIUtil;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Which Redis carries the shared index; the same on routers and workers.
 *
 * @param uri which Redis: {@code redis://host:6379}, {@code rediss://…} for TLS,
 *            {@code redis-sentinel://host1:26379,host2:26379#name-of-the-primary}; the same on routers and workers.
 *            Unset: none is needed
 * @param cluster the hosts of the URI are seeds of a Redis Cluster
 * @param username ACL user; unset: the default user
 * @param password the user's password
 * @param caCertificate PEM file with the authorities to trust, for TLS; unset: those of the JVM
 * @param connectTimeout longest wait for a connection to open, 10ms to 30s
 * @param commandTimeout longest wait for an answer, 10ms to 30s
 * @param streamLength entries kept in each event stream, about, 100 or more; more let a router be away for longer. Has
 *                     no meaning on a router
 * @param eventStreams streams over which workers are spread, 1 to 64; the same on all routers and workers: a router
 *                     follows a worker that has another number directly, as if it were not in Redis
 */
@ConfigurationProperties("warmpath.redis")
public record RedisProperties(
        @Nullable String uri,
        @DefaultValue("false") boolean cluster,
        @Nullable String username,
        @Nullable String password,
        @Nullable Path caCertificate,
        @DefaultValue("1s") Duration connectTimeout,
        @DefaultValue("1s") Duration commandTimeout,
        @DefaultValue("10000") int streamLength,
        @DefaultValue("" + RedisLayout.DEFAULT_STREAM_COUNT) int eventStreams) {

    private static final Duration SHORTEST_TIMEOUT = Duration.ofMillis(10);
    private static final Duration LONGEST_TIMEOUT = Duration.ofSeconds(30);
    private static final int SHORTEST_STREAM = 100;
    private static final Pattern HOST = Pattern.compile("[\\w.-]+|\\[?[0-9a-fA-F:.]+\\]?");
    private static final Pattern WHOLE_CREDENTIALS = Pattern.compile("[^?#]*([?#][^@]*)?");

    public RedisProperties {
        uri = blankToNull(uri);
        username = blankToNull(username);
        password = blankToNull(password);
        checkTimeout("connect-timeout", connectTimeout);
        checkTimeout("command-timeout", commandTimeout);
        if (streamLength < SHORTEST_STREAM) {
            throw new IllegalArgumentException("warmpath.redis.stream-length is " + streamLength + ", the least is "
                    + SHORTEST_STREAM);
        }
        if (eventStreams < 1 || eventStreams > RedisLayout.MAX_STREAM_COUNT) {
            throw new IllegalArgumentException("warmpath.redis.event-streams is " + eventStreams
                    + ", possible are 1 to " + RedisLayout.MAX_STREAM_COUNT);
        }
        if (username != null && password == null) {
            throw new IllegalArgumentException("warmpath.redis.username is set, warmpath.redis.password is not");
        }
        if (uri != null && cluster && uri.contains("-sentinel:")) {
            throw new IllegalArgumentException("warmpath.redis.uri names sentinels and warmpath.redis.cluster is true: "
                    + "a Redis Cluster has no sentinels");
        }
        if (uri != null) {
            checkServers(uri, parse(uri, cluster), password, caCertificate);
        }
    }

    /** For tests and tools: that server, everything else by default. */
    public static RedisProperties of(String uri) {
        return new RedisProperties(uri, false, null, null, null, Duration.ofSeconds(1), Duration.ofSeconds(1), 10_000,
                RedisLayout.DEFAULT_STREAM_COUNT);
    }

    /** False: this process does without Redis. */
    public boolean isSet() {
        return uri != null;
    }

    /** Never the password, nor what the URI says about users. */
    @Override
    public String toString() {
        return "RedisProperties[servers=" + (uri == null ? "none" : describe()) + ", cluster=" + cluster
                + ", username=" + (username == null ? "none" : "set") + ", caCertificate=" + caCertificate
                + ", connectTimeout=" + connectTimeout + ", commandTimeout=" + commandTimeout
                + ", streamLength=" + streamLength + ", eventStreams=" + eventStreams + "]";
    }

    /** Host and port of the server, or of all seeds or sentinels; no credentials. */
    String describe() {
        List<RedisURI> servers = servers();
        String primary = servers.getFirst().getSentinelMasterId();
        if (primary != null) {
            return primary + " as known to " + hosts(servers.getFirst().getSentinels());
        }
        return cluster ? "cluster of " + hosts(servers) : hosts(servers);
    }

    /** The text, with passwords left out: of the settings, and as the URI has them. */
    String withoutSecrets(String text) {
        String safe = text;
        for (RedisURI server : servers()) {
            RedisCredentials known = server.getCredentialsProvider().resolveCredentials().block();
            String secret = known != null && known.hasPassword() ? new String(known.getPassword()) : "";
            safe = secret.isEmpty() ? safe : safe.replace(secret, "…");
        }
        return safe;
    }

    /** Where to connect, as whom, and how long to wait; several only for a cluster. To be called if {@link #isSet}. */
    List<RedisURI> servers() {
        List<RedisURI> servers = parse(String.valueOf(uri), cluster);
        for (RedisURI server : servers) {
            server.setTimeout(commandTimeout);
            server.getSentinels().forEach(sentinel -> sentinel.setTimeout(commandTimeout));
            if (username != null) {
                server.setAuthentication(username, String.valueOf(password));
            } else if (password != null) {
                server.setAuthentication(password);
            }
        }
        return servers;
    }

    private static @Nullable String blankToNull(@Nullable String text) {
        return text == null || text.isBlank() ? null : text.strip();
    }

    private static void checkTimeout(String name, Duration timeout) {
        if (timeout.compareTo(SHORTEST_TIMEOUT) < 0 || timeout.compareTo(LONGEST_TIMEOUT) > 0) {
            throw new IllegalArgumentException("warmpath.redis." + name + " is " + timeout.toMillis()
                    + " ms, possible are " + SHORTEST_TIMEOUT.toMillis() + " to " + LONGEST_TIMEOUT.toMillis());
        }
    }

    /** What went wrong inside may quote the URI, and with it a password: it is not passed on. */
    private static List<RedisURI> parse(String uri, boolean cluster) {
        try {
            List<RedisURI> servers =
                    cluster ? RedisClusterURIUtil.toRedisURIs(URI.create(uri)) : List.of(RedisURI.create(uri));
            // Lettuce would take what stands before an unescaped character for the host
            if (!WHOLE_CREDENTIALS.matcher(uri).matches() || !servers.stream().allMatch(RedisProperties::hasHosts)) {
                throw new IllegalArgumentException("host");
            }
            return servers;
        } catch (RuntimeException _) {
            throw new IllegalArgumentException("warmpath.redis.uri '" + uri.replaceFirst("^.*@", "…@")
                    + "' is not the address of a Redis: it looks like redis://host:6379, rediss://host:6379 for TLS, "
                    + "or redis-sentinel://host1:26379,host2:26379#primary; special characters in a password are "
                    + "written as %40 for @, or the password goes into warmpath.redis.password");
        }
    }

    private static boolean hasHosts(RedisURI server) {
        return server.getSocket() != null
                || server.getHost() == null && server.getSentinels().stream().allMatch(RedisProperties::hasHosts)
                || server.getHost() != null && HOST.matcher(server.getHost()).matches();
    }

    private static void checkServers(
            String uri, List<RedisURI> servers, @Nullable String password, @Nullable Path caCertificate) {
        if (password != null && uri.contains("@")) {
            throw new IllegalArgumentException("warmpath.redis.password is set and warmpath.redis.uri has credentials, "
                    + "too: leave one of them out");
        }
        if (caCertificate != null) {
            if (!servers.getFirst().isSsl()) {
                throw new IllegalArgumentException("warmpath.redis.ca-certificate is set, but warmpath.redis.uri does "
                        + "not ask for TLS: rediss:// does");
            }
            checkCertificates(caCertificate);
        }
    }

    private static void checkCertificates(Path file) {
        try (InputStream in = new BufferedInputStream(Files.newInputStream(file))) {
            if (CertificateFactory.getInstance("X.509").generateCertificates(in).isEmpty()) {
                throw new CertificateException("it has no certificate");
            }
        } catch (IOException e) {
            throw new IllegalArgumentException("warmpath.redis.ca-certificate " + file + " cannot be read: " + e);
        } catch (CertificateException e) {
            throw new IllegalArgumentException("warmpath.redis.ca-certificate " + file
                    + " is not a PEM file of certificates: " + e.getMessage());
        }
    }

    private static String hosts(List<RedisURI> servers) {
        return servers.stream()
                .map(server ->
                        server.getSocket() != null ? server.getSocket() : server.getHost() + ":" + server.getPort())
                .collect(Collectors.joining(", "));
    }
}
