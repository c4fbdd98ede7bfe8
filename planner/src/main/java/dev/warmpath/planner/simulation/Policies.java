package dev.warmpath.planner.simulation;

import dev.warmpath.router.routing.ExpectedFirstToken;
import dev.warmpath.router.routing.PolicyName;
import dev.warmpath.router.routing.RoutingPolicy;
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
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The router's policies, each made anew for a router, and the short names under which one asks for them. */
public final class Policies {

    /** In the order of their names, ours first. */
    private static final Map<PolicyName, Supplier<RoutingPolicy>> ALL = new EnumMap<>(PolicyName.class);
    /** Of those that have one beside the name in settings. */
    private static final Map<String, PolicyName> SHORT = new LinkedHashMap<>();

    static {
        for (Supplier<RoutingPolicy> each : List.<Supplier<RoutingPolicy>>of(ExpectedFirstToken::new, RoundRobin::new,
                RandomChoice::new, LeastRequests::new, PowerOfTwo::new, PrefixHash::new, StickySession::new,
                SglangCacheAware::new, SmgCacheAware::new, LlmDPrefixScorer::new, LlmDPrefixFilter::new,
                DynamoCost::new, Lmetric::new)) {
            ALL.put(each.get().name(), each);
        }
        SHORT.put("default", PolicyName.EXPECTED_FIRST_TOKEN);
        SHORT.put("sticky", PolicyName.STICKY_SESSION);
        SHORT.put("sglang", PolicyName.SGLANG_CACHE_AWARE);
        SHORT.put("smg", PolicyName.SMG_CACHE_AWARE);
        SHORT.put("llm-d", PolicyName.LLM_D_PREFIX_SCORER);
        SHORT.put("llm-d-filter", PolicyName.LLM_D_PREFIX_FILTER);
        SHORT.put("dynamo", PolicyName.DYNAMO_COST);
    }

    private Policies() {}

    /** All there are, ours first. */
    public static Map<PolicyName, Supplier<RoutingPolicy>> all() {
        return Collections.unmodifiableMap(ALL);
    }

    public static Supplier<RoutingPolicy> of(PolicyName name) {
        return ALL.get(name);
    }

    /** @param name a short one, or as settings have it. @return null if there is none */
    public static @Nullable PolicyName named(String name) {
        String plain = name.strip().toLowerCase(Locale.ROOT);
        return SHORT.containsKey(plain) ? SHORT.get(plain)
                : ALL.keySet().stream().filter(each -> each.text().equals(plain)).findFirst().orElse(null);
    }

    /** The short name, where there is one. */
    public static String shortName(PolicyName policy) {
        return SHORT.entrySet().stream().filter(each -> each.getValue() == policy).map(Map.Entry::getKey).findFirst()
                .orElse(policy.text());
    }

    /** Short ones, in the order of {@link #all}. */
    public static List<String> names() {
        List<String> names = new ArrayList<>();
        ALL.keySet().forEach(each -> names.add(shortName(each)));
        return names;
    }
}
