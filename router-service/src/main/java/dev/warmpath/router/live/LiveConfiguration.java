package dev.warmpath.router.live;

import dev.warmpath.process.ManagementProperties;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.router.decisions.DecisionLog;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleetlink.stream.WorkerHttp;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.router.routing.RequestRouter;
import java.time.InstantSource;
import java.util.Objects;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.info.BuildProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import tools.jackson.databind.json.JsonMapper;

/** What is watched, and by what. The routes are wired by {@link LiveRoutes}, for the management port. */
@Configuration(proxyBeanMethods = false)
class LiveConfiguration {

    /** Text of prompts is for whoever sits at this machine. */
    static final class DemoExposedException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        DemoExposedException(String address) {
            super("warmpath.live.demo is set, which shows what stands in prompts, but management.server.address is "
                    + (address.isBlank() ? "not set, so the port is open to the network" : address));
        }

        /** Prints the sentence in place of a stack trace. Named in META-INF/spring.factories. */
        static final class Analyzer extends AbstractFailureAnalyzer<DemoExposedException> {
            @Override
            protected FailureAnalysis analyze(Throwable rootFailure, DemoExposedException cause) {
                return new FailureAnalysis(cause.getMessage(), "Leave warmpath.live.demo out, or bind the management "
                        + "port to this machine: management.server.address=127.0.0.1", cause);
            }
        }
    }

    /** Connections of its own: whoever watches holds up nobody who follows the fleet. */
    @Bean(destroyMethod = "close")
    WorkerHttp liveWorkerHttp(FleetToken token) {
        return new WorkerHttp(token);
    }

    @Bean
    HotPrefixes hotPrefixes(LiveProperties properties, Environment environment) {
        String address = address(environment);
        if (properties.demo() && !FleetToken.NONE.allowsBinding(address)) {
            throw new DemoExposedException(address);
        }
        return new HotPrefixes(/* keepsTokens */ properties.demo());
    }

    @Bean
    PageGuard pageGuard(ManagementProperties management, Environment environment) {
        return new PageGuard(management.operatorsToken(), address(environment));
    }

    /** That the page's port is bound to; blank: all of this machine's. */
    private static String address(Environment environment) {
        boolean ownPort = environment.containsProperty("management.server.port");
        return environment.getProperty(ownPort ? "management.server.address" : "server.address", "");
    }

    @Bean
    LiveFeed liveFeed(Fleet fleet, PrefixIndex index, RequestRouter router, DecisionLog decisions, HotPrefixes prefixes,
            WorkerHttp liveWorkerHttp, JsonMapper json, LiveProperties properties, PageGuard guard,
            ObjectProvider<BuildProperties> build) {
        BuildProperties built = build.getIfAvailable();
        String version = built == null ? "unknown" : Objects.requireNonNullElse(built.getVersion(), "unknown");
        var feed = new LiveFeed(fleet, index, router, new Pools(liveWorkerHttp, json), prefixes, json,
                (models, history) -> new LiveFeed.Hello(version, properties.demo(), guard.isOpen() ? "open" : "token",
                        models, history),
                InstantSource.system(), System::nanoTime);
        decisions.watch(feed);
        return feed;
    }

    @Bean(destroyMethod = "close")
    Playground playground(Environment environment, Fleet fleet, PrefixIndex index) {
        return new Playground(() -> apiUrl(environment), fleet, index);
    }

    /** The port is known once the server listens, which is before anybody is answered here. */
    private static String apiUrl(Environment environment) {
        String address = environment.getProperty("server.address", "");
        boolean everywhere = address.isBlank() || address.equals("0.0.0.0") || address.equals("::");
        String host = everywhere ? "127.0.0.1" : address.contains(":") ? "[" + address + "]" : address;
        return "http://" + host + ":" + environment.getRequiredProperty("local.server.port");
    }
}
