package dev.warmpath.redislink;

import org.springframework.context.annotation.Condition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.core.type.AnnotatedTypeMetadata;
import org.springframework.util.StringUtils;

/**
 * For {@code @Conditional}: holds if {@code warmpath.redis.uri} has a text. An empty environment variable means no
 * Redis, as in {@link RedisProperties#isSet}.
 */
public final class OnRedis implements Condition {

    @Override
    public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
        return StringUtils.hasText(context.getEnvironment().getProperty("warmpath.redis.uri"));
    }
}
