package dev.warmpath.router;

import dev.warmpath.process.Service;
import dev.warmpath.process.ServiceProcess;
import dev.warmpath.router.audit.IndexCommand;
import dev.warmpath.router.keys.KeyCommand;
import java.util.Arrays;
import java.util.List;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.ConfigurationPropertiesScan;
import org.springframework.boot.logging.LoggingSystem;
import org.springframework.context.annotation.Import;

/**
 * Entry point of the router: the fleet's HTTP gateway or, with {@code index} first, a look at what Redis holds, with
 * {@code key} a new API key.
 */
@SpringBootApplication
@ConfigurationPropertiesScan
@Import(ServiceProcess.class)
public class RouterApplication {

    public static void main(String[] args) {
        if (args.length > 0 && args[0].equals(IndexCommand.NAME)) {
            // silent: what is printed is the report
            LoggingSystem.get(RouterApplication.class.getClassLoader()).beforeInitialize();
            List<String> arguments = Arrays.asList(args).subList(1, args.length);
            System.exit(IndexCommand.run(arguments, System.out, System.err));
        }
        if (args.length > 0 && args[0].equals(KeyCommand.NAME)) {
            System.exit(KeyCommand.run(Arrays.asList(args).subList(1, args.length), System.out, System.err));
        }
        ServiceProcess.run(Service.ROUTER, RouterApplication.class, args);
    }
}
