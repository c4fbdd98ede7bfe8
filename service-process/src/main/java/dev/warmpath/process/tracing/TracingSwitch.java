package dev.warmpath.process.tracing;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.EnvironmentPostProcessor;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.AutoConfigurationImportFilter;
import org.springframework.boot.autoconfigure.AutoConfigurationMetadata;
import org.springframework.boot.logging.LoggingSystem;
import org.springframework.context.EnvironmentAware;
import org.springframework.context.annotation.Condition;
import org.springframework.context.annotation.ConditionContext;
import org.springframework.core.Ordered;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.Environment;
import org.springframework.core.type.AnnotatedTypeMetadata;

/**
 * Tracing is on if spans have somewhere to go. Left to itself, Spring Boot makes ids and spans for a tenth of all
 * requests also where nobody takes them.
 */
public final class TracingSwitch implements Condition {

    /** Boot's; it also takes it from {@code OTEL_EXPORTER_OTLP_ENDPOINT}. */
    static final String ENDPOINT = "management.opentelemetry.tracing.export.otlp.endpoint";
    /** Boot's. */
    static final String ENABLED = "management.tracing.export.enabled";

    static boolean isOn(Environment settings) {
        return !settings.getProperty(ENDPOINT, "").isBlank() && settings.getProperty(ENABLED, Boolean.class, true);
    }

    @Override
    public boolean matches(ConditionContext context, AnnotatedTypeMetadata metadata) {
        return isOn(context.getEnvironment());
    }

    /** Leaves Boot's wiring out where tracing is off, the tracer that does nothing included. */
    static final class Wiring implements AutoConfigurationImportFilter, EnvironmentAware {

        private @Nullable Environment settings;

        @Override
        public void setEnvironment(Environment environment) {
            settings = environment;
        }

        @Override
        public boolean[] match(@Nullable String[] classNames, AutoConfigurationMetadata metadata) {
            boolean on = settings != null && isOn(settings);
            var matches = new boolean[classNames.length];
            for (int i = 0; i < matches.length; i++) {
                matches[i] = on || classNames[i] == null || !isTracing(classNames[i]);
            }
            return matches;
        }

        private static boolean isTracing(String className) {
            return className.startsWith("org.springframework.boot.micrometer.tracing.")
                    || className.startsWith("org.springframework.boot.opentelemetry.");
        }
    }

    /** Without tracing, log lines have no column for ids of traces. */
    static final class LogColumn implements EnvironmentPostProcessor, Ordered {

        @Override
        public void postProcessEnvironment(ConfigurableEnvironment environment, SpringApplication application) {
            environment.getPropertySources().addLast(new EnumerablePropertySource<>("tracing", this) {
                @Override
                public String[] getPropertyNames() {
                    return new String[] {LoggingSystem.EXPECT_CORRELATION_ID_PROPERTY};
                }

                @Override
                public @Nullable Object getProperty(String name) {
                    return name.equals(LoggingSystem.EXPECT_CORRELATION_ID_PROPERTY) ? isOn(environment) : null;
                }
            });
        }

        /** Just before Boot, which would have it wherever the library is. */
        @Override
        public int getOrder() {
            return LOWEST_PRECEDENCE - 1;
        }
    }
}
