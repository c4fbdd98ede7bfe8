package dev.warmpath.worker;

import static dev.warmpath.redislink.TestRedis.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.fleet.RevisionParts;
import dev.warmpath.redislink.RedisLink;
import dev.warmpath.redislink.RedisProperties;
import dev.warmpath.redislink.TestRedis;
import dev.warmpath.worker.routerlink.KvEventPublisher;
import dev.warmpath.worker.routerlink.RedisAnnouncer;
import dev.warmpath.worker.routerlink.RedisHealth;
import java.net.URI;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;
import tools.jackson.databind.json.JsonMapper;

class RedisConfigurationTest {

    private static final RevisionParts PARTS =
            new RevisionParts("", "", "", "", "", HashSettings.SHA256_CBOR, "0", 16, 2_048);

    private final ApplicationContextRunner worker = new ApplicationContextRunner()
            .withUserConfiguration(Settings.class, RedisConfiguration.class)
            .withBean(KvEventPublisher.class, () -> new KvEventPublisher("w", 7))
            .withBean(FleetToken.class, () -> FleetToken.NONE)
            .withBean(JsonMapper.class, () -> JsonMapper.builder().build())
            .withBean(Registration.class, () -> new Registration(Protocol.VERSION, "w", 7,
                    URI.create("http://127.0.0.1:8000"),
                    new ModelDescription("tiny", PARTS.revision(), PARTS, 1, 512), 1_000, 8, true));

    @Configuration(proxyBeanMethods = false)
    @EnableConfigurationProperties(RedisProperties.class)
    static class Settings {}

    @Test
    void without_a_uri_or_with_an_empty_one_there_is_nothing_of_redis() {
        worker.run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(RedisLink.class));
        worker.withPropertyValues("warmpath.redis.uri=").run(context ->
                assertThat(context).hasNotFailed().doesNotHaveBean(RedisAnnouncer.class));
    }

    @Test
    void a_missing_redis_degrades_and_never_takes_the_worker_down() {
        try (TestRedis redis = TestRedis.absent()) {
            worker.withPropertyValues("warmpath.redis.uri=" + redis.uri()).run(context -> {
                assertThat(context).hasNotFailed();
                context.getBean(RedisAnnouncer.class).start();
                RedisHealth health = context.getBean("redis", RedisHealth.class);
                await("a problem", () -> String.valueOf(health.health().getDetails().get("degraded"))
                        .startsWith("Redis at 127.0.0.1:" + redis.port() + " cannot be used"));
                assertThat(health.health().getStatus()).isEqualTo(Status.UP);

                redis.start();
                await("well", () -> health.health().equals(Health.up()
                        .withDetail("server", "127.0.0.1:" + redis.port()).build()));
            });
            // closing the context says goodbye; others may use the stream
            assertThat(redis.commands().keys("*")).isEqualTo(List.of("warmpath:events:2"));
        }
    }

    @Test
    void wrong_settings_stop_the_start_with_a_sentence_and_no_secret() {
        worker.withPropertyValues("warmpath.redis.uri=redis://u:hush@").run(context -> {
            assertThat(context).hasFailed();
            assertThat(context.getStartupFailure()).rootCause().message()
                    .startsWith("warmpath.redis.uri '…@' is not the address of a Redis").doesNotContain("hush");
        });
    }
}
