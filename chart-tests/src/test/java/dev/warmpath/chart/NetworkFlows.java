package dev.warmpath.chart;

import io.fabric8.kubernetes.api.model.IntOrString;
import io.fabric8.kubernetes.api.model.LabelSelector;
import io.fabric8.kubernetes.api.model.LabelSelectorRequirement;
import io.fabric8.kubernetes.api.model.PodTemplateSpec;
import io.fabric8.kubernetes.api.model.networking.v1.NetworkPolicy;
import io.fabric8.kubernetes.api.model.networking.v1.NetworkPolicyPeer;
import io.fabric8.kubernetes.api.model.networking.v1.NetworkPolicyPort;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a network that enforces the rendered policies lets through, after the API's description: a pod that a policy
 * of a direction selects may do in that direction what one of them allows; one that none selects may do everything.
 *
 * @param rendered pods and policies, all in one namespace
 */
record NetworkFlows(Rendered rendered) {

    /** Some pod of the release's namespace that is no part of it. */
    static final Map<String, String> STRANGER = Map.of("app", "stranger");

    /** From a pod of the release, by its component, to another one at a port of it. */
    boolean areOpen(String from, String to, int port) {
        return areOpen(pod(from).getMetadata().getLabels(), to, port);
    }

    /** The same from a pod with labels, in the same namespace. */
    boolean areOpen(Map<String, String> from, String to, int port) {
        PodTemplateSpec target = pod(to);
        Map<String, String> labels = target.getMetadata().getLabels();
        return mayLeave(from, labels, target, port) && mayEnter(from, labels, target, port);
    }

    /** From a pod of the release to some address outside. */
    boolean leadOut(String from, int port) {
        return mayLeave(pod(from).getMetadata().getLabels(), null, null, port);
    }

    private boolean mayLeave(
            Map<String, String> from, @Nullable Map<String, String> to, @Nullable PodTemplateSpec target, int port) {
        List<NetworkPolicy> policies = policies("Egress", from);
        return policies.isEmpty()
                || policies.stream()
                        .flatMap(policy -> policy.getSpec().getEgress().stream())
                        .anyMatch(rule -> hasPeer(rule.getTo(), to) && hasPort(rule.getPorts(), target, port));
    }

    private boolean mayEnter(Map<String, String> from, Map<String, String> to, PodTemplateSpec target, int port) {
        List<NetworkPolicy> policies = policies("Ingress", to);
        return policies.isEmpty()
                || policies.stream()
                        .flatMap(policy -> policy.getSpec().getIngress().stream())
                        .anyMatch(rule -> hasPeer(rule.getFrom(), from) && hasPort(rule.getPorts(), target, port));
    }

    private List<NetworkPolicy> policies(String direction, Map<String, String> labels) {
        return rendered.all(NetworkPolicy.class).stream()
                .filter(policy -> policy.getSpec().getPolicyTypes().contains(direction))
                .filter(policy -> matches(policy.getSpec().getPodSelector(), labels))
                .toList();
    }

    /** No peers: everybody. One with a selector of namespaces is somewhere else. */
    private static boolean hasPeer(List<NetworkPolicyPeer> peers, @Nullable Map<String, String> labels) {
        return peers.isEmpty()
                || labels != null
                        && peers.stream()
                                .anyMatch(peer -> peer.getNamespaceSelector() == null
                                        && peer.getPodSelector() != null
                                        && matches(peer.getPodSelector(), labels));
    }

    private static boolean matches(LabelSelector selector, Map<String, String> labels) {
        return (selector.getMatchLabels() == null
                        || labels.entrySet()
                                .containsAll(selector.getMatchLabels().entrySet()))
                && selector.getMatchExpressions().stream().allMatch(expression -> matches(expression, labels));
    }

    private static boolean matches(LabelSelectorRequirement expression, Map<String, String> labels) {
        if (!expression.getOperator().equals("In")) {
            throw new IllegalArgumentException("unknown operator " + expression.getOperator());
        }
        return labels.containsKey(expression.getKey())
                && expression.getValues().contains(labels.get(expression.getKey()));
    }

    private static boolean hasPort(List<NetworkPolicyPort> ports, @Nullable PodTemplateSpec target, int port) {
        return ports.isEmpty()
                || ports.stream().map(NetworkPolicyPort::getPort).anyMatch(allowed -> is(allowed, target, port));
    }

    private static boolean is(IntOrString allowed, @Nullable PodTemplateSpec target, int port) {
        return allowed.getStrVal() == null
                ? allowed.getIntVal() == port
                : target != null
                        && target.getSpec().getContainers().stream()
                                .flatMap(container -> container.getPorts().stream())
                                .anyMatch(
                                        known -> known.getContainerPort() == port && References.isPort(known, allowed));
    }

    private PodTemplateSpec pod(String component) {
        return rendered.pods().stream()
                .filter(pod -> component.equals(pod.getMetadata().getLabels().get("app.kubernetes.io/component")))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("no pods of " + component));
    }
}
