package dev.warmpath.chart;

import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ContainerPort;
import io.fabric8.kubernetes.api.model.EnvVar;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.IntOrString;
import io.fabric8.kubernetes.api.model.PodTemplateSpec;
import io.fabric8.kubernetes.api.model.Probe;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.ServicePort;
import io.fabric8.kubernetes.api.model.Volume;
import io.fabric8.kubernetes.api.model.VolumeMount;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.autoscaling.v2.HorizontalPodAutoscaler;
import io.fabric8.kubernetes.api.model.networking.v1.Ingress;
import io.fabric8.kubernetes.api.model.networking.v1.NetworkPolicy;
import io.fabric8.kubernetes.api.model.policy.v1.PodDisruptionBudget;
import io.fabric8.openshift.api.model.monitoring.v1.PodMonitor;
import io.fabric8.openshift.api.model.monitoring.v1.ServiceMonitor;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;

/** Names that one object calls another one by: selectors, ports, volumes, Secrets, targets. */
final class References {

    private static final int LONGEST_NAME = 63;

    private References() {}

    /**
     * What leads nowhere; empty if nothing does.
     *
     * @param foreignSecrets those that the values name, which others make
     */
    static List<String> faults(Rendered rendered, Set<String> foreignSecrets) {
        List<String> faults = new ArrayList<>();
        names(rendered, faults);
        for (Deployment deployment : rendered.all(Deployment.class)) {
            Map<String, String> selector = deployment.getSpec().getSelector().getMatchLabels();
            require(selected(rendered, selector).size() == 1, deployment, "selects other pods than its own", faults);
            require(
                    selected(rendered, selector).contains(deployment.getSpec().getTemplate()),
                    deployment,
                    "does not select its pods",
                    faults);
        }
        for (Service service : rendered.all(Service.class)) {
            List<PodTemplateSpec> pods = selected(rendered, service.getSpec().getSelector());
            require(!pods.isEmpty(), service, "selects nothing", faults);
            for (ServicePort port : service.getSpec().getPorts()) {
                require(
                        pods.stream().allMatch(pod -> hasPort(pod, port.getTargetPort())),
                        service,
                        "has a port that pods have not",
                        faults);
            }
        }
        for (PodDisruptionBudget budget : rendered.all(PodDisruptionBudget.class)) {
            require(
                    selected(rendered, budget.getSpec().getSelector().getMatchLabels())
                                    .size()
                            == 1,
                    budget,
                    "selects not one kind of pods",
                    faults);
        }
        for (NetworkPolicy policy : rendered.all(NetworkPolicy.class)) {
            require(
                    !selected(rendered, policy.getSpec().getPodSelector().getMatchLabels())
                            .isEmpty(),
                    policy,
                    "selects nothing",
                    faults);
        }
        for (PodMonitor monitor : rendered.all(PodMonitor.class)) {
            List<PodTemplateSpec> pods =
                    selected(rendered, monitor.getSpec().getSelector().getMatchLabels());
            require(!pods.isEmpty(), monitor, "selects nothing", faults);
            monitor.getSpec()
                    .getPodMetricsEndpoints()
                    .forEach(endpoint -> require(
                            pods.stream().allMatch(pod -> hasPort(pod, new IntOrString(endpoint.getPort()))),
                            monitor,
                            "scrapes a port that is not there",
                            faults));
        }
        for (ServiceMonitor monitor : rendered.all(ServiceMonitor.class)) {
            Map<String, String> selector = monitor.getSpec().getSelector().getMatchLabels();
            List<Service> services = rendered.all(Service.class).stream()
                    .filter(service ->
                            service.getMetadata().getLabels().entrySet().containsAll(selector.entrySet()))
                    .toList();
            require(services.size() == 1, monitor, "selects not one service", faults);
            monitor.getSpec()
                    .getEndpoints()
                    .forEach(endpoint -> require(
                            services.stream()
                                    .flatMap(service -> service.getSpec().getPorts().stream())
                                    .anyMatch(port -> port.getName().equals(endpoint.getPort())),
                            monitor,
                            "scrapes a port that is not there",
                            faults));
        }
        List<String> deployments = rendered.names(Deployment.class);
        rendered.all(HorizontalPodAutoscaler.class)
                .forEach(scaler -> require(
                        deployments.contains(
                                scaler.getSpec().getScaleTargetRef().getName()),
                        scaler,
                        "scales nothing",
                        faults));
        rendered.all(ScaledObject.class)
                .forEach(scaler -> require(
                        deployments.contains(scaler.spec.scaleTargetRef().name()), scaler, "scales nothing", faults));
        rendered.all(Ingress.class)
                .forEach(ingress -> ingress.getSpec()
                        .getRules()
                        .forEach(rule -> rule.getHttp()
                                .getPaths()
                                .forEach(path -> require(
                                        rendered.names(Service.class)
                                                .contains(path.getBackend()
                                                        .getService()
                                                        .getName()),
                                        ingress,
                                        "leads nowhere",
                                        faults))));
        Set<String> secrets = new HashSet<>(foreignSecrets);
        secrets.addAll(rendered.names(Secret.class));
        rendered.pods().forEach(pod -> inPod(pod, secrets, faults));
        return faults;
    }

    private static void names(Rendered rendered, List<String> faults) {
        Set<String> seen = new HashSet<>();
        for (HasMetadata object : rendered.objects()) {
            String name = object.getMetadata().getName();
            require(seen.add(object.getKind() + " " + name), object, "is there twice", faults);
            require(name.length() <= LONGEST_NAME, object, "has a name that is too long", faults);
            require(object.getMetadata().getNamespace() == null, object, "names a namespace", faults);
            object.getMetadata()
                    .getLabels()
                    .values()
                    .forEach(value ->
                            require(value.length() <= LONGEST_NAME, object, "has a label that is too long", faults));
        }
    }

    private static void inPod(PodTemplateSpec pod, Set<String> secrets, List<String> faults) {
        List<Volume> volumes = pod.getSpec().getVolumes();
        List<String> volumeNames = volumes.stream().map(Volume::getName).toList();
        Set<String> mounted = new HashSet<>();
        for (Container container : Stream.concat(
                        pod.getSpec().getInitContainers().stream(), pod.getSpec().getContainers().stream())
                .toList()) {
            String who = "container " + container.getName();
            container.getVolumeMounts().stream().map(VolumeMount::getName).forEach(mounted::add);
            Set<String> variables = new HashSet<>();
            for (EnvVar variable : container.getEnv()) {
                require(variables.add(variable.getName()), who, "sets " + variable.getName() + " twice", faults);
                if (variable.getValueFrom() != null && variable.getValueFrom().getSecretKeyRef() != null) {
                    String secret = variable.getValueFrom().getSecretKeyRef().getName();
                    require(secrets.contains(secret), who, "reads a secret that nobody makes: " + secret, faults);
                }
            }
            Stream.of(container.getStartupProbe(), container.getLivenessProbe(), container.getReadinessProbe())
                    .filter(Objects::nonNull)
                    .map(References::port)
                    .forEach(port -> require(hasPort(pod, port), who, "is probed at a port that it has not", faults));
        }
        require(
                mounted.equals(Set.copyOf(volumeNames)),
                "pod " + pod.getSpec().getContainers().getFirst().getName(),
                "mounts " + mounted + " of " + volumeNames,
                faults);
        volumes.stream()
                .filter(volume -> volume.getSecret() != null)
                .map(volume -> volume.getSecret().getSecretName())
                .forEach(secret -> require(
                        secrets.contains(secret), "volume", "of a secret that nobody makes: " + secret, faults));
    }

    static List<PodTemplateSpec> selected(Rendered rendered, Map<String, String> labels) {
        return rendered.pods().stream()
                .filter(pod -> pod.getMetadata().getLabels().entrySet().containsAll(labels.entrySet()))
                .toList();
    }

    /** A number, or the name of one of its containers' ports. */
    static boolean hasPort(PodTemplateSpec pod, IntOrString port) {
        return Stream.concat(pod.getSpec().getContainers().stream(), pod.getSpec().getInitContainers().stream())
                .flatMap(container -> container.getPorts().stream())
                .anyMatch(known -> isPort(known, port));
    }

    static boolean isPort(ContainerPort known, IntOrString port) {
        return port.getStrVal() == null
                ? known.getContainerPort().equals(port.getIntVal())
                : port.getStrVal().equals(known.getName());
    }

    private static IntOrString port(Probe probe) {
        return probe.getHttpGet() != null
                ? probe.getHttpGet().getPort()
                : probe.getTcpSocket().getPort();
    }

    private static void require(boolean holds, HasMetadata object, String otherwise, List<String> faults) {
        require(holds, object.getKind() + " " + object.getMetadata().getName(), otherwise, faults);
    }

    private static void require(boolean holds, String who, String otherwise, List<String> faults) {
        if (!holds) {
            faults.add(who + " " + otherwise);
        }
    }
}
