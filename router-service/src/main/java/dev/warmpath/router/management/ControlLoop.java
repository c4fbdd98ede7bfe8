package dev.warmpath.router.management;

import dev.warmpath.router.fleet.Fleet;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.springframework.boot.actuate.autoconfigure.web.server.ConditionalOnManagementPort;
import org.springframework.boot.actuate.autoconfigure.web.server.ManagementPortType;
import org.springframework.boot.reactor.netty.NettyReactiveWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.http.client.ReactorResourceFactory;
import reactor.netty.resources.LoopResources;

/**
 * Gives the management port an event loop of its own: what workers say never waits for requests, nor for their event
 * loops. The same loop says, turn by turn, that it runs: leases go on only while it does.
 *
 * <p>Named in META-INF as a management configuration, and without any stereotype on purpose: a component scan that
 * found it would give the public port the same loop.
 */
@ConditionalOnManagementPort(ManagementPortType.DIFFERENT)
class ControlLoop {

    /** A thousand heartbeats a second take a tenth of it; and one is all that has to be alive. */
    private static final int THREADS = 1;
    private static final Duration TURN = Duration.ofMillis(100);

    /** By this name it hides the public port's, which is in the parent context. */
    @Bean
    ReactorResourceFactory reactorResourceFactory(Fleet fleet) {
        var resources = new ReactorResourceFactory();
        resources.setUseGlobalResources(false);
        resources.setLoopResourcesSupplier(() -> started(fleet));
        resources.setShutdownQuietPeriod(Duration.ZERO);           // the server has stopped before
        return resources;
    }

    /** The management server is made without any resources, and would run on the public port's loops. */
    @Bean
    WebServerFactoryCustomizer<NettyReactiveWebServerFactory> serverOnControlLoop(
            ReactorResourceFactory reactorResourceFactory) {
        return factory -> factory.setResourceFactory(reactorResourceFactory);
    }

    private static LoopResources started(Fleet fleet) {
        LoopResources loop = LoopResources.create("control", THREADS, /* daemon */ true);
        loop.onServer(LoopResources.DEFAULT_NATIVE)
                .scheduleWithFixedDelay(fleet::receiving, 0, TURN.toMillis(), TimeUnit.MILLISECONDS);
        return loop;
    }
}
