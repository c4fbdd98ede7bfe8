package dev.warmpath.worker;

import org.springframework.boot.autoconfigure.condition.NoneNestedConditions;

/** For {@code @Conditional}: holds if {@code warmpath.engine.kind} names a server that this worker stands beside. */
final class OnForeignEngine extends NoneNestedConditions {

    OnForeignEngine() {
        super(ConfigurationPhase.PARSE_CONFIGURATION);
    }

    /** Not this. */
    @OnOwnEngine
    static final class Own {}
}
