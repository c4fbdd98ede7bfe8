package dev.warmpath.router;

import dev.warmpath.protocol.process.ProcessEnd;
import dev.warmpath.router.fleetlink.IndexCommand;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.ConfigurationPropertiesScan;
import org.springframework.boot.logging.LoggingSystem;

/** Entry point of the router: the fleet's HTTP gateway or, with {@code index} first, a look at what Redis holds. */
@SpringBootApplication
@ConfigurationPropertiesScan
public class RouterApplication {

    private static final Duration DEADLINE_UNTIL_SETTINGS_ARE_READ = Duration.ofSeconds(150);

    public static void main(String[] args) {
        if (args.length > 0 && args[0].equals(IndexCommand.NAME)) {
            // silent: what is printed is the report
            LoggingSystem.get(RouterApplication.class.getClassLoader()).beforeInitialize();
            List<String> arguments = Arrays.asList(args).subList(1, args.length);
            System.exit(IndexCommand.run(arguments, System.out, System.err));
        }
        var deadline = new AtomicReference<>(DEADLINE_UNTIL_SETTINGS_ARE_READ);
        ProcessEnd.guard(deadline::get);
        var application = new SpringApplication(RouterApplication.class);
        application.addInitializers(context -> {
            deadline.set(ShutdownProperties.of(context.getEnvironment()).deadline());
            ProcessEnd.warnUnlessMemoryEndsIt();
        });
        application.run(args);
    }
}
