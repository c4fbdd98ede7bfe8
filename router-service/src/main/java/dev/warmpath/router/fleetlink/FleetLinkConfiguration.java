package dev.warmpath.router.fleetlink;

import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetProperties;
import dev.warmpath.router.fleet.RegistrationCheck;
import dev.warmpath.router.prefix.PrefixIndex;
import java.time.InstantSource;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/** Puts fleet, index and links together. The routes are wired by {@link FleetRoutes}, for the management port. */
@Configuration(proxyBeanMethods = false)
class FleetLinkConfiguration {

    @Bean
    FleetToken fleetToken(FleetProperties properties, Environment environment) {
        FleetToken token = FleetToken.of(properties.token());
        FleetExposure.check(token, environment);
        return token;
    }

    @Bean
    PrefixIndex prefixIndex() {
        return new PrefixIndex();
    }

    @Bean
    Fleet fleet(FleetProperties properties, FleetToken token, PrefixIndex index) {
        var check = new RegistrationCheck(/* loopbackOnly */ token.isNone(), InstantSource.system());
        return new Fleet(index, check, properties.leaseDuration(), properties.maxWorkers(), System::nanoTime,
                new ConnectProbe());
    }

    @Bean(destroyMethod = "close")
    WorkerLinks workerLinks(Fleet fleet, FleetToken token) {
        return new WorkerLinks(fleet, new WorkerHttp(token), System::nanoTime);
    }
}
