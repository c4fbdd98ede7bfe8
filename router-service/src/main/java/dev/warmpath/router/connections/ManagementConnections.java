package dev.warmpath.router.connections;

import dev.warmpath.router.metrics.RouterMetrics;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.reactor.netty.NettyReactiveWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;

/**
 * The same deadlines for the management port, and a cap of its own. Named in META-INF as a management configuration,
 * and without any stereotype: the port has a context of its own. Without the public API's settings there are none.
 */
@ConditionalOnBean(ConnectionProperties.class)
class ManagementConnections {

    @Bean
    WebServerFactoryCustomizer<NettyReactiveWebServerFactory> managementConnectionGuard(ConnectionProperties limits, RouterMetrics metrics) {
        var connections = new OpenConnections(limits.max(), "management", metrics);
        return factory -> factory.addServerCustomizers(
                server -> ConnectionConfiguration.guarded(server, limits, connections));
    }
}
