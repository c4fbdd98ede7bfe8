package dev.warmpath.router.fleetlink;

import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.redislink.OnRedis;
import dev.warmpath.redislink.RedisLink;
import dev.warmpath.redislink.RedisProperties;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetProperties;
import dev.warmpath.router.fleet.IndexGrade;
import dev.warmpath.router.fleet.RegistrationCheck;
import dev.warmpath.router.fleetlink.log.EventLog;
import dev.warmpath.router.fleetlink.log.RedisHealth;
import dev.warmpath.router.fleetlink.stream.WorkerHttp;
import dev.warmpath.router.health.HealthProperties;
import dev.warmpath.router.health.HealthState;
import dev.warmpath.router.metrics.RouterMeter;
import dev.warmpath.router.metrics.RouterMetrics;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.tokenization.SegmentCache;
import java.time.InstantSource;
import java.util.concurrent.TimeUnit;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import tools.jackson.databind.json.JsonMapper;

/** Puts fleet, index and links together. */
@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties({RedisProperties.class, TokenizationProperties.class})
class FleetLinkConfiguration {

    @Bean
    PrefixIndex prefixIndex(RouterMetrics metrics) {
        var index = new PrefixIndex();
        var recent = new RecentStats(index, System::nanoTime);
        metrics.watch(RouterMeter.INDEX_ENTRIES, () -> recent.get().entries());
        metrics.watch(RouterMeter.INDEX_KEYS, () -> recent.get().keys());
        metrics.watch(RouterMeter.INDEX_HOLDER_SETS, () -> recent.get().holderSets());
        metrics.watch(RouterMeter.INDEX_BYTES, () -> recent.get().bytes());
        return index;
    }

    @Bean
    Fleet fleet(FleetProperties properties, FleetToken token, PrefixIndex index, RouterMetrics metrics) {
        var check = new RegistrationCheck(/* loopbackOnly */ token.isNone(), InstantSource.system());
        var fleet = Fleet.of(properties, index, check, System::nanoTime, new ConnectProbe());
        metrics.watch(RouterMeter.INDEX_LAG,
                () -> (double) fleet.longestOutOfStepNanos() / TimeUnit.SECONDS.toNanos(1));
        metrics.watch(RouterMeter.INDEX_LAG_BATCHES, fleet::mostBehindBatches);
        metrics.watch(RouterMeter.INDEX_NOT_FOLLOWED, fleet::notFollowed);
        for (IndexGrade grade : IndexGrade.values()) {
            metrics.watch(RouterMeter.INDEX_WORKERS, () -> fleet.ofGrade(grade), "grade", grade.text());
        }
        for (HealthState state : HealthState.values()) {
            metrics.watch(RouterMeter.WORKERS, () -> fleet.ofHealth(state), "health", state.text());
        }
        return fleet;
    }

    @Bean(destroyMethod = "close")
    @Conditional(OnRedis.class)
    RedisLink redisLink(RedisProperties properties) {
        return RedisLink.forReads(properties);
    }

    @Bean
    EventLog eventLog(ObjectProvider<RedisLink> redis, RedisProperties properties) {
        return new EventLog(/* awaited */ redis.getIfAvailable() != null, properties.eventStreams(), System::nanoTime);
    }

    @Bean(destroyMethod = "close")
    WorkerLinks workerLinks(Fleet fleet, PrefixIndex index, EventLog events, FleetToken token, JsonMapper json,
            RouterMetrics metrics, HealthProperties health, TokenizationProperties tokenization,
            ObjectProvider<RedisLink> redis) {
        var links = new WorkerLinks(fleet, index, events, new WorkerHttp(token), metrics, System::nanoTime);
        links.watchHealth(health);
        var segments = new SegmentCache(tokenization.segmentCache().toBytes());
        metrics.watch(RouterMeter.SEGMENT_CACHE_BYTES, segments::bytes);
        metrics.follow(RouterMeter.SEGMENTS, segments, SegmentCache::hits, "tokens", "known");
        metrics.follow(RouterMeter.SEGMENTS, segments, SegmentCache::misses, "tokens", "computed");
        links.rememberSegments(segments);
        links.tellStates();
        redis.ifAvailable(link -> {
            links.readLog(link, token, json);
            metrics.watch(RouterMeter.REDIS_CONNECTED, events::freshShare);
        });
        return links;
    }

    @Bean("redis")
    @Conditional(OnRedis.class)
    HealthIndicator redisHealth(RedisLink redis, EventLog events, Fleet fleet) {
        return new RedisHealth(redis, events, fleet);
    }
}
