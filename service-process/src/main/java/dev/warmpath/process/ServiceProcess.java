package dev.warmpath.process;

import dev.warmpath.process.tracing.TracingConfiguration;
import dev.warmpath.protocol.process.ProcessEnd;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Import;
import org.springframework.core.env.ConfigurableEnvironment;

/** A service's {@code main}. The application imports this class for the beans that go with it. */
@Import({EventLoopGuard.class, QueuedLogMeter.class, StartedHealth.class, SettingsInfo.class,
    TracingConfiguration.class})
@EnableConfigurationProperties(ShutdownProperties.class)
public final class ServiceProcess {

    private static final Duration DEADLINE_UNTIL_SETTINGS_ARE_READ = Duration.ofSeconds(150);

    private ServiceProcess() {}

    /** A sentence for each name that is no setting of the service, such as would stop its start. */
    public static List<String> unknownSettings(Service service, ConfigurableEnvironment environment) {
        return UnknownSettingsException.problems(environment, SettingNames.of(service));
    }

    /**
     * Returns when the service has started. A setting that it does not have stops the start. From then on it
     * {@linkplain BeginAnew begins anew} whenever it wants to.
     */
    public static void run(Service service, Class<?> application, String[] args) {
        var deadline = new AtomicReference<>(DEADLINE_UNTIL_SETTINGS_ARE_READ);
        ProcessEnd.guard(deadline::get);
        var spring = new SpringApplication(application);
        spring.addInitializers(context -> {
            QueuedLog.install();
            UnknownSettingsException.check(context.getEnvironment(), SettingNames.of(service));
            deadline.set(ShutdownProperties.of(context.getEnvironment()).deadline());
            ProcessEnd.warnUnlessMemoryEndsIt();
        });
        new Lives(spring, args, deadline::get).begin();
    }
}
