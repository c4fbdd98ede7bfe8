package dev.warmpath.worker;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/** Lets a start that ends in a {@link SettingsException} print what is wrong and what to do. Before Spring's own. */
@Order(Ordered.HIGHEST_PRECEDENCE)
final class SettingsFailureAnalyzer extends AbstractFailureAnalyzer<SettingsException> {

    @Override
    protected FailureAnalysis analyze(Throwable start, SettingsException cause) {
        return new FailureAnalysis(cause.contradiction(), cause.remedy(), cause);
    }
}
