package dev.warmpath.worker.compute.cuda;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;

/** Says aloud, once for each reason, what this machine leaves out: a report counts skipped tests without reasons. */
final class LeftOut {

    private static final Set<String> SAID = ConcurrentHashMap.newKeySet();

    private LeftOut() {
    }

    /** @param reason why, null if nothing is missing */
    static ConditionEvaluationResult because(@Nullable String reason) {
        if (reason == null) {
            return ConditionEvaluationResult.enabled("everything is there");
        }
        if (SAID.add(reason)) {
            System.out.println(reason);
        }
        return ConditionEvaluationResult.disabled(reason);
    }
}
