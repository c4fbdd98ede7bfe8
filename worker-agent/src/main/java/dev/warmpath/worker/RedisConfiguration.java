package dev.warmpath.worker;

import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.redislink.OnRedis;
import dev.warmpath.redislink.RedisLink;
import dev.warmpath.redislink.RedisProperties;
import dev.warmpath.worker.metrics.RedisMeters;
import dev.warmpath.worker.routerlink.KvEventPublisher;
import dev.warmpath.worker.routerlink.RedisAnnouncer;
import dev.warmpath.worker.routerlink.RedisHealth;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import tools.jackson.databind.json.JsonMapper;

/** What a worker has more when there is a Redis. Without one, routers read its event stream. */
@Configuration(proxyBeanMethods = false)
@Conditional(OnRedis.class)
class RedisConfiguration {

    @Bean
    RedisLink redisLink(RedisProperties redis) {
        return RedisLink.open(redis);
    }

    /** Only talks once {@link WorkerStart} says so. */
    @Bean
    RedisAnnouncer redisAnnouncer(RedisLink link, RedisProperties redis, KvEventPublisher publisher,
            Registration registration, FleetToken token, JsonMapper json) {
        return new RedisAnnouncer(link, redis, publisher, registration, token, json);
    }

    @Bean
    RedisMeters redisMeters(RedisAnnouncer announcer) {
        return new RedisMeters(announcer::status);
    }

    /** The bean's name is that of the component in the health answer. */
    @Bean("redis")
    RedisHealth redisHealth(RedisLink link, RedisAnnouncer announcer) {
        return new RedisHealth(link, announcer);
    }
}
