package dev.warmpath.router.decisions;

import dev.warmpath.router.routing.RouteDecision.Routed;
import dev.warmpath.router.routing.ShadowChoice;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import tools.jackson.databind.annotation.JsonNaming;

/**
 * What the shadow policy would have done.
 *
 * @param policy      its name
 * @param worker      whom it would have chosen
 * @param extraTokens prompt tokens that would have been computed beyond those that are, by the index; below 0: fewer
 */
@JsonNaming(SnakeCaseStrategy.class)
public record ShadowView(String policy, String worker, long extraTokens) {

    /** Null where no shadow was asked. */
    public static @Nullable ShadowView of(Routed routed) {
        ShadowChoice shadow = routed.shadow();
        return shadow == null ? null
                : new ShadowView(shadow.policy().text(), shadow.workerId(), shadow.extraTokens());
    }
}
