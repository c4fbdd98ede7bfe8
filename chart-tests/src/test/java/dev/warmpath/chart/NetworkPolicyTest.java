package dev.warmpath.chart;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.networking.v1.NetworkPolicy;
import java.util.Map;
import org.junit.jupiter.api.Test;

class NetworkPolicyTest {

    private static final Rendered WITH_REDIS = Chart.render("redis: {mode: builtin}");
    private final NetworkFlows flows = new NetworkFlows(WITH_REDIS);

    @Test
    void what_the_product_needs_is_open() {
        assertThat(flows.areOpen("worker", "router", 9080)).as("registration").isTrue();
        assertThat(flows.areOpen("router", "worker", 8081)).as("generation").isTrue();
        assertThat(flows.areOpen("test", "router", 8080)).as("helm test").isTrue();
        assertThat(flows.areOpen(NetworkFlows.STRANGER, "router", 8080))
                .as("clients")
                .isTrue();
        assertThat(flows.areOpen("router", "redis", 6379)).as("index").isTrue();
        assertThat(flows.areOpen("worker", "redis", 6379)).as("index").isTrue();
        assertThat(flows.leadOut("router", 53)).as("names").isTrue();
    }

    @Test
    void everything_else_is_closed() {
        assertThat(flows.areOpen(NetworkFlows.STRANGER, "router", 9080)).isFalse();
        assertThat(flows.areOpen(NetworkFlows.STRANGER, "worker", 8081)).isFalse();
        assertThat(flows.areOpen(NetworkFlows.STRANGER, "worker", 9081)).isFalse();
        assertThat(flows.areOpen(NetworkFlows.STRANGER, "redis", 6379)).isFalse();
        assertThat(flows.areOpen("worker", "router", 8080)).isFalse();
        assertThat(flows.areOpen("worker", "worker", 8081)).isFalse();
        assertThat(flows.areOpen("router", "worker", 9081)).isFalse();
        assertThat(flows.areOpen("router", "router", 9080)).isFalse();
        assertThat(flows.areOpen("test", "router", 9080)).isFalse();
        assertThat(flows.areOpen("test", "redis", 6379)).isFalse();
        assertThat(flows.leadOut("router", 443)).isFalse();
        assertThat(flows.leadOut("worker", 443)).isFalse();
        assertThat(flows.leadOut("redis", 443)).isFalse();
    }

    @Test
    void clients_and_operators_can_be_named() {
        var named = new NetworkFlows(Chart.render("""
            networkPolicy:
              clients: [{podSelector: {matchLabels: {app: web}}}]
              operators: [{podSelector: {matchLabels: {app: admin}}}]
            """));

        assertThat(named.areOpen(Map.of("app", "web"), "router", 8080)).isTrue();
        assertThat(named.areOpen(NetworkFlows.STRANGER, "router", 8080)).isFalse();
        assertThat(named.areOpen("test", "router", 8080)).isTrue();
        assertThat(named.areOpen(Map.of("app", "admin"), "router", 9080)).isTrue();
        assertThat(named.areOpen(Map.of("app", "web"), "router", 9080)).isFalse();
    }

    @Test
    void a_redis_elsewhere_is_reached_at_its_ports_and_models_by_https() {
        var elsewhere = new NetworkFlows(Chart.render("""
            redis: {mode: sentinel, hosts: ["s1:26379", "s2:26379"], sentinelPrimary: main}
            networkPolicy: {redisPorts: [6379]}
            workers:
              - name: big
                model:
                  source: download
                  download: {files: [{path: config.json, url: "https://models/c", sha256: "%s"}]}
            """.formatted("0".repeat(64))));

        assertThat(elsewhere.leadOut("router", 26379)).isTrue();
        assertThat(elsewhere.leadOut("worker", 6379)).isTrue();
        assertThat(elsewhere.leadOut("worker", 443)).isTrue();
        assertThat(elsewhere.leadOut("router", 443)).isFalse();
        assertThat(elsewhere.leadOut("test", 6379)).isFalse();
    }

    @Test
    void a_collector_of_traces_is_reached_at_its_port_by_routers_and_workers() {
        var traced = new NetworkFlows(Chart.render("tracing: {endpoint: 'http://collector:4318/v1/traces'}"));
        var far = new NetworkFlows(Chart.render("tracing: {endpoint: 'https://collector.example/v1/traces'}"));

        assertThat(traced.leadOut("router", 4318)).isTrue();
        assertThat(traced.leadOut("worker", 4318)).isTrue();
        assertThat(traced.leadOut("test", 4318)).isFalse();
        assertThat(traced.leadOut("router", 443)).isFalse();
        assertThat(far.leadOut("worker", 443)).isTrue();
    }

    @Test
    void names_are_asked_only_of_whom_the_values_say_and_models_fetched_at_their_own_ports() {
        var named = new NetworkFlows(Chart.render("""
            networkPolicy: {dns: {servers: [{podSelector: {matchLabels: {app: dns}}}], ports: [5353]}}
            workers:
              - name: big
                model:
                  source: download
                  download:
                    files:
                      - {path: a, url: "https://models:8443/a", sha256: "%1$s"}
                      - {path: b, url: "https://models/b:80", sha256: "%1$s"}
            extraObjects:
              - {apiVersion: v1, kind: Pod, metadata: {name: dns, labels: {app: dns,
                  app.kubernetes.io/component: dns}}, spec: {containers: [{name: dns, image: dns}]}}
            """.formatted("0".repeat(64))));

        assertThat(named.areOpen("router", "dns", 5353)).isTrue();
        assertThat(named.areOpen("router", "dns", 53)).isFalse();
        assertThat(named.leadOut("router", 5353)).isFalse();
        assertThat(named.leadOut("router", 53)).isFalse();
        assertThat(named.leadOut("worker", 8443)).isTrue();
        assertThat(named.leadOut("worker", 443)).isTrue();
        assertThat(named.leadOut("worker", 80)).isFalse();
    }

    @Test
    void there_are_none_where_they_are_not_wanted() {
        assertThat(Chart.render("networkPolicy: {enabled: false}").all(NetworkPolicy.class))
                .isEmpty();
    }
}
