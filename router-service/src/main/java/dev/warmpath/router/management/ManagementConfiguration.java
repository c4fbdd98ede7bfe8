package dev.warmpath.router.management;

import dev.warmpath.process.ManagementProperties;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetProperties;
import dev.warmpath.router.prefix.PrefixIndex;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/** Who may come in, and what is shown. The routes are wired by {@link FleetRoutes}, for the management port. */
@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(ManagementProperties.class)
class ManagementConfiguration {

    @Bean
    FleetToken fleetToken(FleetProperties properties, ManagementProperties management, Environment environment) {
        FleetToken token = properties.fleetToken();
        FleetExposure.checkManagement(management.operatorsToken(), environment);
        FleetExposure.check(token, environment);
        return token;
    }

    @Bean
    PrefixIndexEndpoint prefixIndexEndpoint(Fleet fleet, PrefixIndex index) {
        return new PrefixIndexEndpoint(fleet, index, System::nanoTime);
    }
}
