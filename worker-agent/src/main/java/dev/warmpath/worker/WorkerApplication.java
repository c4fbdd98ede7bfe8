package dev.warmpath.worker;

import dev.warmpath.process.Service;
import dev.warmpath.process.ServiceProcess;
import java.security.Security;
import java.util.Arrays;
import java.util.List;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.ConfigurationPropertiesScan;
import org.springframework.boot.logging.LoggingSystem;
import org.springframework.context.annotation.Import;

/**
 * Entry point of a worker agent: one model on one device, serving token ids; or, with {@code check} first, of a look at
 * whether it would start, and with {@code doctor} at engines that it would stand beside.
 */
@SpringBootApplication
@ConfigurationPropertiesScan
@Import(ServiceProcess.class)
public class WorkerApplication {

    /** Seconds. Routers come and go behind one name, which is looked up every five seconds; the JVM would keep 30. */
    private static final String DNS_CACHE_SECONDS = "1";

    public static void main(String[] args) {
        String command = args.length == 0 ? "" : args[0];
        if (command.equals(CheckCommand.NAME) || command.equals(DoctorCommand.NAME)) {
            // silent: what is printed is the report
            LoggingSystem.get(WorkerApplication.class.getClassLoader()).beforeInitialize();
            List<String> arguments = Arrays.asList(args).subList(1, args.length);
            System.exit(command.equals(CheckCommand.NAME)
                    ? CheckCommand.run(arguments, LauncherWords.here(), System.out, System.err)
                    : DoctorCommand.run(arguments, LauncherWords.here(), System.out, System.err));
        }
        Security.setProperty("networkaddress.cache.ttl", DNS_CACHE_SECONDS);
        Security.setProperty("networkaddress.cache.negative.ttl", DNS_CACHE_SECONDS);
        ServiceProcess.run(Service.WORKER, WorkerApplication.class, args);
    }
}
