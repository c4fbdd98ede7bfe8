package dev.warmpath.router.routing;

import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.router.routing.peers.DynamoCost;
import dev.warmpath.router.routing.peers.LeastRequests;
import dev.warmpath.router.routing.peers.LlmDPrefixFilter;
import dev.warmpath.router.routing.peers.LlmDPrefixScorer;
import dev.warmpath.router.routing.peers.Lmetric;
import dev.warmpath.router.routing.peers.PowerOfTwo;
import dev.warmpath.router.routing.peers.PrefixHash;
import dev.warmpath.router.routing.peers.RandomChoice;
import dev.warmpath.router.routing.peers.RoundRobin;
import dev.warmpath.router.routing.peers.SglangCacheAware;
import dev.warmpath.router.routing.peers.SmgCacheAware;
import dev.warmpath.router.routing.peers.StickySession;
import java.security.SecureRandom;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Puts the router of requests together. */
@Configuration(proxyBeanMethods = false)
class RoutingConfiguration {

    /** Of this life. */
    @Bean
    RouterId routerId() {
        return RouterId.random(new SecureRandom());
    }

    @Bean
    RecentChains recentChains(RoutingProperties properties) {
        return new RecentChains(properties.recentChains().toBytes());
    }

    @Bean
    RequestRouter requestRouter(Fleet fleet, PrefixIndex index, RoutingProperties properties, RouterId self) {
        var random = new SplittableRandom(new SecureRandom().nextLong());      // two routers draw apart
        return new RequestRouter(fleet, index, plan(properties), random, System::nanoTime, self);
    }

    /** Each has a policy of its own, even of one name: what one remembers was not decided by the other. */
    static PolicyPlan plan(RoutingProperties properties) {
        RoutingWeights weights = properties.weights().toRoutingWeights();
        return new PolicyPlan(policy(properties.policy(), weights), properties.share(),
                orNone(properties.sharePolicy(), weights), orNone(properties.shadow(), weights));
    }

    private static @Nullable RoutingPolicy orNone(@Nullable PolicyName name, RoutingWeights weights) {
        return name == null ? null : policy(name, weights);
    }

    static RoutingPolicy policy(PolicyName name, RoutingWeights weights) {
        return switch (name) {
            case EXPECTED_FIRST_TOKEN -> new ExpectedFirstToken(weights);
            case ROUND_ROBIN -> new RoundRobin();
            case RANDOM -> new RandomChoice();
            case LEAST_REQUESTS -> new LeastRequests();
            case POWER_OF_TWO -> new PowerOfTwo();
            case PREFIX_HASH -> new PrefixHash();
            case STICKY_SESSION -> new StickySession();
            case SGLANG_CACHE_AWARE -> new SglangCacheAware();
            case SMG_CACHE_AWARE -> new SmgCacheAware();
            case LLM_D_PREFIX_SCORER -> new LlmDPrefixScorer();
            case LLM_D_PREFIX_FILTER -> new LlmDPrefixFilter();
            case DYNAMO_COST -> new DynamoCost();
            case LMETRIC -> new Lmetric();
        };
    }
}
