package dev.warmpath.router.routing;

import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.prefix.PrefixIndex;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Puts the router of requests together. */
@Configuration(proxyBeanMethods = false)
class RoutingConfiguration {

    @Bean
    RequestRouter requestRouter(Fleet fleet, PrefixIndex index) {
        return new RequestRouter(fleet, index, new ExpectedFirstToken(), System::nanoTime);
    }
}
