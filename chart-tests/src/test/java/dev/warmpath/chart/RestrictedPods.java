package dev.warmpath.chart;

import io.fabric8.kubernetes.api.model.Capabilities;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.ContainerPort;
import io.fabric8.kubernetes.api.model.PodSecurityContext;
import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.SeccompProfile;
import io.fabric8.kubernetes.api.model.SecurityContext;
import io.fabric8.kubernetes.api.model.Volume;
import io.fabric8.kubernetes.api.model.VolumeMount;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What a namespace with {@code pod-security.kubernetes.io/enforce: restricted} asks of a pod, after Kubernetes' Pod
 * Security Standards, "baseline" and "restricted"; and what we ask beyond: a read-only root, one user, one place to
 * write, no token of the API server, no environment made of Services, a memory limit.
 */
final class RestrictedPods {

    private static final long USER = 65532;
    private static final Set<String> SECCOMP = Set.of("RuntimeDefault", "Localhost");

    private RestrictedPods() {}

    /** What is not as it must be; empty if everything is. */
    static List<String> faults(PodSpec pod) {
        List<String> faults = new ArrayList<>();
        PodSecurityContext context = Objects.requireNonNullElseGet(pod.getSecurityContext(), PodSecurityContext::new);
        standard(pod, context, faults);
        ours(pod, context, faults);
        return faults;
    }

    private static void standard(PodSpec pod, PodSecurityContext context, List<String> faults) {
        require(
                !isTrue(pod.getHostNetwork()) && !isTrue(pod.getHostPID()) && !isTrue(pod.getHostIPC()),
                "host namespaces",
                faults);
        require(context.getSysctls() == null || context.getSysctls().isEmpty(), "sysctls", faults);
        require(context.getSeLinuxOptions() == null, "seLinuxOptions", faults);
        require(context.getWindowsOptions() == null, "windowsOptions", faults);
        require(context.getRunAsUser() == null || context.getRunAsUser() != 0, "runAsUser 0", faults);
        for (Volume volume : orEmpty(pod.getVolumes())) {
            require(
                    Stream.of(
                                            volume.getConfigMap(),
                                            volume.getCsi(),
                                            volume.getDownwardAPI(),
                                            volume.getEmptyDir(),
                                            volume.getEphemeral(),
                                            volume.getPersistentVolumeClaim(),
                                            volume.getProjected(),
                                            volume.getSecret())
                                    .filter(Objects::nonNull)
                                    .count()
                            == 1,
                    "volume " + volume.getName() + " of a forbidden type",
                    faults);
        }
        containers(pod).forEach(container -> {
            List<String> found = new ArrayList<>();
            standard(
                    container,
                    Objects.requireNonNullElseGet(container.getSecurityContext(), SecurityContext::new),
                    context,
                    found);
            found.forEach(fault -> faults.add(container.getName() + ": " + fault));
        });
    }

    private static void standard(
            Container container, SecurityContext security, PodSecurityContext pod, List<String> faults) {
        Capabilities capabilities = Objects.requireNonNullElseGet(security.getCapabilities(), Capabilities::new);
        require(!isTrue(security.getPrivileged()), "privileged", faults);
        require(
                Boolean.FALSE.equals(security.getAllowPrivilegeEscalation()),
                "allowPrivilegeEscalation is not false",
                faults);
        require(orEmpty(capabilities.getDrop()).contains("ALL"), "capabilities do not drop ALL", faults);
        require(Set.of("NET_BIND_SERVICE").containsAll(orEmpty(capabilities.getAdd())), "capabilities added", faults);
        require(
                security.getRunAsNonRoot() == null ? isTrue(pod.getRunAsNonRoot()) : security.getRunAsNonRoot(),
                "runAsNonRoot is not true",
                faults);
        require(security.getRunAsUser() == null || security.getRunAsUser() != 0, "runAsUser 0", faults);
        SeccompProfile seccomp =
                security.getSeccompProfile() == null ? pod.getSeccompProfile() : security.getSeccompProfile();
        require(seccomp != null && SECCOMP.contains(seccomp.getType()), "seccompProfile", faults);
        require(security.getProcMount() == null, "procMount", faults);
        require(security.getSeLinuxOptions() == null, "seLinuxOptions", faults);
        require(security.getWindowsOptions() == null, "windowsOptions", faults);
        require(
                orEmpty(container.getPorts()).stream()
                        .map(ContainerPort::getHostPort)
                        .allMatch(Objects::isNull),
                "hostPort",
                faults);
        require(
                Stream.of(container.getStartupProbe(), container.getLivenessProbe(), container.getReadinessProbe())
                        .filter(Objects::nonNull)
                        .allMatch(probe ->
                                probe.getHttpGet() == null || probe.getHttpGet().getHost() == null),
                "a probe of another host",
                faults);
    }

    private static void ours(PodSpec pod, PodSecurityContext context, List<String> faults) {
        require(
                Objects.equals(context.getRunAsUser(), USER) && Objects.equals(context.getRunAsGroup(), USER),
                "another user",
                faults);
        require(
                Boolean.FALSE.equals(pod.getAutomountServiceAccountToken()),
                "a token of the API server is mounted",
                faults);
        require(Boolean.FALSE.equals(pod.getEnableServiceLinks()), "enableServiceLinks", faults);
        containers(pod).forEach(container -> {
            SecurityContext security =
                    Objects.requireNonNullElseGet(container.getSecurityContext(), SecurityContext::new);
            require(isTrue(security.getReadOnlyRootFilesystem()), container.getName() + ": a writable root", faults);
            require(
                    container.getResources() != null
                            && container.getResources().getLimits() != null
                            && container.getResources().getLimits().containsKey("memory"),
                    container.getName() + ": no memory limit",
                    faults);
        });
        for (Container container : pod.getContainers()) {
            List<String> writable = orEmpty(container.getVolumeMounts()).stream()
                    .filter(mount -> !isTrue(mount.getReadOnly()))
                    .map(VolumeMount::getMountPath)
                    .toList();
            require(writable.equals(List.of("/tmp")), container.getName() + ": writes to " + writable, faults);
        }
    }

    private static Stream<Container> containers(PodSpec pod) {
        return Stream.concat(orEmpty(pod.getInitContainers()).stream(), pod.getContainers().stream());
    }

    private static <T> List<T> orEmpty(@Nullable List<T> list) {
        return list == null ? List.of() : list;
    }

    private static boolean isTrue(@Nullable Boolean value) {
        return Boolean.TRUE.equals(value);
    }

    private static void require(boolean holds, String otherwise, List<String> faults) {
        if (!holds) {
            faults.add(otherwise);
        }
    }
}
