package dev.warmpath.worker;

import dev.warmpath.process.ManagementProperties;
import dev.warmpath.protocol.fleet.Epoch;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.redislink.RedisProperties;
import dev.warmpath.worker.routerlink.FleetGate;
import dev.warmpath.worker.routerlink.KvEventPublisher;
import dev.warmpath.worker.routerlink.KvEventStream;
import dev.warmpath.worker.routerlink.ModelFileServing;
import dev.warmpath.worker.routerlink.ModelFiles;
import dev.warmpath.worker.routerlink.RouterLink;
import dev.warmpath.worker.routerlink.RouterLinkProperties;
import java.security.SecureRandom;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.http.codec.CodecCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.ServerResponse;
import tools.jackson.databind.json.JsonMapper;

/**
 * What every worker has, whatever generates its answers. Everything is made here, once, and handed to whoever needs it.
 */
@Configuration(proxyBeanMethods = false)
// shared with the router, outside of what is scanned
@EnableConfigurationProperties({ManagementProperties.class, RedisProperties.class})
class WorkerConfiguration {

    @Bean
    FleetToken fleetToken(RouterLinkProperties properties, Environment environment) {
        FleetToken token = properties.fleetToken();
        checkAddress(token, environment, "server.address", "use this worker and read along");
        checkAddress(token, environment, "management.server.address", "look into this worker");
        return token;
    }

    private static void checkAddress(FleetToken token, Environment environment, String property, String harm) {
        String address = environment.getProperty(property);
        if (!token.allowsBinding(address)) {
            throw new SettingsException(property + " is " + (address == null || address.isBlank() ? "not set" : address)
                    + ", open to the network, but warmpath.fleet.token is not set: anybody could " + harm,
                    "Set warmpath.fleet.token, the same on routers and workers, or bind to 127.0.0.1");
        }
    }

    @Bean
    KvEventPublisher eventPublisher(WorkerProperties worker) {
        return new KvEventPublisher(worker.id(), Epoch.of(System.currentTimeMillis(), new SecureRandom()));
    }

    /** A token id of a prompt takes ten digits and what parts it from the next; the rest is names and stop tokens. */
    @Bean
    CodecCustomizer longestBody(ModelFiles model) {
        long bytes = 65_536 + 12L * model.description().contextLength();
        return codecs -> codecs.defaultCodecs().maxInMemorySize((int) Math.min(bytes, Integer.MAX_VALUE));
    }

    @Bean
    KvEventStream eventStream(KvEventPublisher publisher) {
        return new KvEventStream(publisher);
    }

    /** Before all that is served on either port: the management port's context is a child of this one. */
    @Bean
    FleetGate fleetGate(FleetToken token, ManagementProperties management, KvEventPublisher publisher) {
        FleetToken operators = management.operatorsToken();
        return new FleetGate(token, operators.isNone() ? token : operators, publisher.workerId(), publisher.epoch());
    }

    @Bean
    RouterFunction<ServerResponse> fleetRoutes(KvEventStream events, ModelFiles files) {
        return events.routes().and(new ModelFileServing(files).routes());
    }

    /** Only talks once {@link WorkerStart} says so. */
    @Bean
    RouterLink routerLink(RouterLinkProperties properties, Registration registration, KvEventPublisher publisher,
            WorkerEngine engine, JsonMapper json) {
        return new RouterLink(properties, registration, engine::load, publisher, json);
    }

    /** Readiness: a worker that routers refuse, or do not find, must take no other one's place in a roll-out. */
    @Bean("knownToRouters")
    HealthIndicator knownToRouters(RouterLink link) {
        return () -> link.isKnown() ? Health.up().build() : Health.outOfService().withDetail("problem",
                "no router has taken this worker yet and found it at its address; its log says why").build();
    }
}
