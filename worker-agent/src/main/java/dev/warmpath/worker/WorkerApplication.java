package dev.warmpath.worker;

import java.security.Security;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.ConfigurationPropertiesScan;

/** Entry point of a worker agent: one model on one device, serving token ids. */
@SpringBootApplication
@ConfigurationPropertiesScan
public class WorkerApplication {

    /** Seconds. Routers come and go behind one name, which is looked up every five seconds; the JVM would keep 30. */
    private static final String DNS_CACHE_SECONDS = "1";

    public static void main(String[] args) {
        Security.setProperty("networkaddress.cache.ttl", DNS_CACHE_SECONDS);
        Security.setProperty("networkaddress.cache.negative.ttl", DNS_CACHE_SECONDS);
        SpringApplication.run(WorkerApplication.class, args);
    }
}
