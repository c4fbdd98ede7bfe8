package dev.warmpath.process;

import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.core.env.Environment;

/**
 * The end of this process.
 *
 * @param deadline from the signal to stop until whatever hangs is cut off, status 1; more than
 *                 {@code spring.lifecycle.timeout-per-shutdown-phase}, and less than what a container is given
 *                 ({@code terminationGracePeriodSeconds})
 */
@ConfigurationProperties(ShutdownProperties.PREFIX)
record ShutdownProperties(@DefaultValue("150s") Duration deadline) {

    static final String PREFIX = "warmpath.shutdown";

    ShutdownProperties {
        if (!deadline.isPositive()) {
            throw new IllegalArgumentException(PREFIX + ".deadline is " + deadline + ", takes more than 0s");
        }
    }

    /** Before there are beans: a start can hang as well. */
    static ShutdownProperties of(Environment environment) {
        return Binder.get(environment).bindOrCreate(PREFIX, ShutdownProperties.class);
    }
}
