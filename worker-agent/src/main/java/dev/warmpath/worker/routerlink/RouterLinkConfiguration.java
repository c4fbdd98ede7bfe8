package dev.warmpath.worker.routerlink;

import dev.warmpath.protocol.fleet.FleetToken;
import java.net.InetAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.UnknownHostException;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.web.server.context.WebServerInitializedEvent;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;
import org.springframework.core.env.Environment;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.ServerResponse;
import tools.jackson.databind.json.JsonMapper;

/** Puts streams, files and links together around the engine's {@link KvEventPublisher} and {@link RoutableWorker}. */
@Configuration(proxyBeanMethods = false)
class RouterLinkConfiguration {

    @Bean
    FleetToken fleetToken(RouterLinkProperties properties) {
        return FleetToken.of(properties.token());
    }

    @Bean
    KvEventStream kvEventStream(KvEventPublisher publisher, FleetToken token) {
        return new KvEventStream(publisher, token);
    }

    @Bean
    RouterFunction<ServerResponse> routerLinkRoutes(KvEventStream stream, ModelFiles files, FleetToken token) {
        return stream.routes().and(new ModelFileServing(files, token).routes());
    }

    @Bean
    LinkAtStart linkAtStart(RouterLinkProperties properties, RoutableWorker worker, KvEventPublisher events,
            JsonMapper json, Environment environment) {
        return new LinkAtStart(properties, worker, events, json, environment.getProperty("server.address"));
    }

    /**
     * Links to the routers once the worker's port is open and its number known, and falls silent before the server
     * waits for its last requests: a worker that is going away must not register again.
     */
    static final class LinkAtStart implements SmartLifecycle {

        private final RouterLinkProperties properties;
        private final RoutableWorker worker;
        private final KvEventPublisher events;
        private final JsonMapper json;
        private final @Nullable String boundAddress;
        private volatile @Nullable RouterLink link;

        LinkAtStart(RouterLinkProperties properties, RoutableWorker worker, KvEventPublisher events, JsonMapper json,
                @Nullable String boundAddress) {
            this.properties = properties;
            this.worker = worker;
            this.events = events;
            this.json = json;
            this.boundAddress = boundAddress;
        }

        @EventListener
        void serverIsUp(WebServerInitializedEvent event) {
            if (event.getApplicationContext().getServerNamespace() != null) {
                return;                                            // the management port
            }
            var opened = new RouterLink(properties, worker.registration(baseUrl(event.getWebServer().getPort())),
                    worker::load, events, json);
            link = opened;
            opened.start();
        }

        private URI baseUrl(int port) {
            URI set = properties.baseUrl();
            if (set != null) {
                return set;
            }
            try {
                InetAddress bound = boundAddress == null ? null : InetAddress.getByName(boundAddress);
                InetAddress address = bound == null || bound.isAnyLocalAddress() ? InetAddress.getLocalHost() : bound;
                return new URI("http", null, address.getHostAddress(), port, null, null, null);
            } catch (UnknownHostException | URISyntaxException e) {
                throw new IllegalStateException("this machine does not know its own address; set "
                        + "warmpath.routerlink.base-url to where routers reach this worker, as http://10.0.0.7:8000", e);
            }
        }

        @Override
        public void start() {
            // begins with the server, not with the context
        }

        @Override
        public void stop() {
            RouterLink open = link;
            if (open != null) {
                open.close();
            }
            link = null;
        }

        @Override
        public boolean isRunning() {
            return link != null;
        }

        /** With {@link KvEventStream}, before the web server. */
        @Override
        public int getPhase() {
            return SmartLifecycle.DEFAULT_PHASE;
        }
    }
}
