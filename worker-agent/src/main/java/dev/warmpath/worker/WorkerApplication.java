package dev.warmpath.worker;

import dev.warmpath.protocol.process.ProcessEnd;
import java.security.Security;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicReference;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.ConfigurationPropertiesScan;

/** Entry point of a worker agent: one model on one device, serving token ids. */
@SpringBootApplication
@ConfigurationPropertiesScan
public class WorkerApplication {

    private static final Duration DEADLINE_UNTIL_SETTINGS_ARE_READ = Duration.ofSeconds(150);

    /** Seconds. Routers come and go behind one name, which is looked up every five seconds; the JVM would keep 30. */
    private static final String DNS_CACHE_SECONDS = "1";

    public static void main(String[] args) {
        Security.setProperty("networkaddress.cache.ttl", DNS_CACHE_SECONDS);
        Security.setProperty("networkaddress.cache.negative.ttl", DNS_CACHE_SECONDS);
        var deadline = new AtomicReference<>(DEADLINE_UNTIL_SETTINGS_ARE_READ);
        ProcessEnd.guard(deadline::get);
        var application = new SpringApplication(WorkerApplication.class);
        application.addInitializers(context -> {
            deadline.set(ShutdownProperties.of(context.getEnvironment()).deadline());
            ProcessEnd.warnUnlessMemoryEndsIt();
        });
        application.run(args);
    }
}
