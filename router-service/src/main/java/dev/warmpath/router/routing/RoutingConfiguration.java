package dev.warmpath.router.routing;

import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.prefix.PrefixIndex;
import java.security.SecureRandom;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Puts the router of requests together. */
@Configuration(proxyBeanMethods = false)
class RoutingConfiguration {

    /** Of this life. */
    @Bean
    RouterId routerId() {
        return RouterId.random(new SecureRandom());
    }

    @Bean
    RequestRouter requestRouter(Fleet fleet, PrefixIndex index, RouterId self) {
        return new RequestRouter(fleet, index, new ExpectedFirstToken(), System::nanoTime, self);
    }
}
