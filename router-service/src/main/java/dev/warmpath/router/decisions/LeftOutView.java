package dev.warmpath.router.decisions;

import dev.warmpath.router.routing.LeftOut;
import java.util.List;
import tools.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import tools.jackson.databind.annotation.JsonNaming;

/**
 * One worker of the model that could not be chosen.
 *
 * @param reason excluded (it has failed this request before), joining, draining or hanging
 */
@JsonNaming(SnakeCaseStrategy.class)
public record LeftOutView(String worker, String reason) {

    public static List<LeftOutView> of(LeftOut leftOut) {
        return leftOut.workers().stream().map(each -> new LeftOutView(each.id(), each.reason().text())).toList();
    }
}
