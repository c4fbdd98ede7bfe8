package dev.warmpath.router.fleetlink;

import org.springframework.context.annotation.Condition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.core.type.AnnotatedTypeMetadata;
import org.springframework.util.StringUtils;

/** There is a {@code warmpath.redis.uri}. An empty one, as templates of environments leave it, is none. */
final class RedisConfigured implements Condition {

    @Override
    public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
        return StringUtils.hasText(context.getEnvironment().getProperty("warmpath.redis.uri"));
    }
}
