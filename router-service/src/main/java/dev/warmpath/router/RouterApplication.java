package dev.warmpath.router;

import dev.warmpath.process.Service;
import dev.warmpath.process.ServiceProcess;
import dev.warmpath.router.audit.IndexCommand;
import dev.warmpath.router.keys.KeyCommand;
import dev.warmpath.tokenization.CheckCommand;
import java.util.Arrays;
import java.util.List;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.ConfigurationPropertiesScan;
import org.springframework.boot.logging.LoggingSystem;
import org.springframework.context.annotation.Import;

/**
 * Entry point of the router: the fleet's HTTP gateway or, with {@code index} first, a look at what Redis holds, with
 * {@code key} a new API key, with {@code check} at a model's tokenizer.
 */
@SpringBootApplication
@ConfigurationPropertiesScan
@Import(ServiceProcess.class)
public class RouterApplication {

    public static void main(String[] args) {
        List<String> arguments = Arrays.asList(args).subList(Math.min(1, args.length), args.length);
        switch (args.length == 0 ? "" : args[0]) {
            case IndexCommand.NAME -> {
                beSilent();
                System.exit(IndexCommand.run(arguments, System.out, System.err));
            }
            case CheckCommand.NAME -> {
                beSilent();
                System.exit(CheckCommand.run(arguments, System.out, System.err));
            }
            case KeyCommand.NAME -> System.exit(KeyCommand.run(arguments, System.out, System.err));
            default -> ServiceProcess.run(Service.ROUTER, RouterApplication.class, args);
        }
    }

    /** What is printed is the report. */
    private static void beSilent() {
        LoggingSystem.get(RouterApplication.class.getClassLoader()).beforeInitialize();
    }
}
