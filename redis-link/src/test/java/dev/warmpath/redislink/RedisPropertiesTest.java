package dev.warmpath.redislink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lettuce.core.RedisURI;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

class RedisPropertiesTest {

    @TempDir
    Path files;

    @Test
    void without_a_uri_there_is_no_redis() {
        assertThat(bind(Map.of()).isSet()).isFalse();
        assertThat(bind(Map.of("uri", " ")).isSet()).isFalse();
        assertThat(bind(Map.of())).hasToString("RedisProperties[servers=none, cluster=false, username=none, "
                + "caCertificate=null, connectTimeout=PT1S, commandTimeout=PT1S, streamLength=10000, eventStreams=8]");
    }

    @Test
    void a_uri_names_one_server_with_tls_or_without() {
        RedisProperties plain = RedisProperties.of("redis://cache.internal:7000");
        RedisProperties tls = RedisProperties.of("rediss://cache.internal");

        assertThat(plain.describe()).isEqualTo("cache.internal:7000");
        assertThat(plain.servers().getFirst().isSsl()).isFalse();
        assertThat(plain.servers().getFirst().getTimeout()).isEqualTo(Duration.ofSeconds(1));
        assertThat(tls.describe()).isEqualTo("cache.internal:6379");
        assertThat(tls.servers().getFirst().isSsl()).isTrue();
    }

    @Test
    void a_uri_names_sentinels_and_their_primary() {
        RedisProperties properties = RedisProperties.of("redis-sentinel://s1:26379,s2:26380#orders");

        assertThat(properties.describe()).isEqualTo("orders as known to s1:26379, s2:26380");
        assertThat(properties.servers().getFirst().getSentinels()).extracting(RedisURI::getPort)
                .containsExactly(26379, 26380);
    }

    @Test
    void a_uri_names_the_seeds_of_a_cluster_each_with_the_same_user() {
        RedisProperties properties = bind(Map.of("uri", "redis://n1:7001,n2:7002", "cluster", "true",
                "username", "router", "password", "hush"));

        assertThat(properties.describe()).isEqualTo("cluster of n1:7001, n2:7002");
        assertThat(properties.servers()).hasSize(2).allSatisfy(server ->
                assertThat(server.getCredentialsProvider().resolveCredentials().block().getUsername())
                        .isEqualTo("router"));
    }

    @Test
    void secrets_are_shown_nowhere() {
        RedisProperties inUri = RedisProperties.of("redis://anna:hush@h:1");
        RedisProperties beside = bind(Map.of("uri", "redis://h:1", "username", "anna", "password", "hush"));

        for (RedisProperties properties : List.of(inUri, beside)) {
            assertThat(properties.toString() + properties.describe()).contains("h:1").doesNotContain("hush", "anna");
        }
        for (String uri : List.of("redis://anna:hush@", "redos://anna:hush@h", "redis://anna:hush/@h",
                "redis://hush@h:port", "redis://:hush?x@h:1", "redis://:hush#@h:1", "redis://a b:hush@h",
                "anna:hush@h:1")) {
            assertThatThrownBy(() -> RedisProperties.of(uri)).as(uri).isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("is not the address of a Redis").message().doesNotContain("hush");
        }
    }

    @Test
    void contradictions_are_told_in_a_sentence() throws IOException {
        Path empty = Files.createFile(files.resolve("ca.pem"));
        Path text = Files.writeString(files.resolve("text.pem"), "hello");

        assertRefused(Map.of("uri", "redis://h", "username", "anna"),
                "warmpath.redis.username is set, warmpath.redis.password is not");
        assertRefused(Map.of("uri", "redis://:x@h", "password", "y"),
                "warmpath.redis.password is set and warmpath.redis.uri has credentials, too: leave one of them out");
        assertRefused(Map.of("uri", "redis-sentinel://s1#m", "cluster", "true"),
                "warmpath.redis.uri names sentinels and warmpath.redis.cluster is true: a Redis Cluster has no ");
        assertRefused(Map.of("uri", "redis://h", "ca-certificate", empty.toString()),
                "warmpath.redis.ca-certificate is set, but warmpath.redis.uri does not ask for TLS: rediss:// does");
        assertRefused(Map.of("uri", "rediss://h", "ca-certificate", empty.toString()),
                "warmpath.redis.ca-certificate " + empty + " is not a PEM file of certificates: it has no certificate");
        assertRefused(Map.of("uri", "rediss://h", "ca-certificate", text.toString()),
                "warmpath.redis.ca-certificate " + text + " is not a PEM file of certificates");
        assertRefused(Map.of("uri", "rediss://h", "ca-certificate", files + "/no.pem"),
                "warmpath.redis.ca-certificate " + files + "/no.pem cannot be read");
        assertRefused(Map.of("command-timeout", "0s"),
                "warmpath.redis.command-timeout is 0 ms, possible are 10 to 30000");
        assertRefused(Map.of("event-streams", "0"), "warmpath.redis.event-streams is 0, possible are 1 to 64");
        assertRefused(Map.of("event-streams", "65"), "warmpath.redis.event-streams is 65, possible are 1 to 64");
        assertRefused(Map.of("stream-length", "99"), "warmpath.redis.stream-length is 99, the least is 100");
    }

    private static void assertRefused(Map<String, String> settings, String sentence) {
        assertThatThrownBy(() -> bind(settings)).rootCause().hasMessageStartingWith(sentence);
    }

    private static RedisProperties bind(Map<String, String> settings) {
        Map<String, String> named = new HashMap<>();
        settings.forEach((name, value) -> named.put("warmpath.redis." + name, value));
        return new Binder(new MapConfigurationPropertySource(named))
                .bindOrCreate("warmpath.redis", RedisProperties.class);
    }
}
