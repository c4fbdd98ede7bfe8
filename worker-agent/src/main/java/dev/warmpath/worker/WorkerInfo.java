package dev.warmpath.worker;

import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.routerlink.ModelFiles;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.springframework.boot.actuate.info.Info;
import org.springframework.boot.actuate.info.InfoContributor;
import org.springframework.stereotype.Component;

/** {@code model} and {@code kernels} in {@code /actuator/info}: what is computed here, and by what. */
@OnOwnEngine
@Component
final class WorkerInfo implements InfoContributor {

    private final Map<String, Object> model = new LinkedHashMap<>();
    /** Asked for once: the backend is the engine's from its first step on. */
    private final Map<String, String> kernels;

    WorkerInfo(ModelFiles files, ModelProperties properties, ComputeBackend backend) {
        ModelDescription description = files.description();
        model.put("name", description.name());
        model.put("revision", description.revision());
        model.put("contextLength", description.contextLength());
        model.put("quantization", properties.quantization().name().toLowerCase(Locale.ROOT));
        kernels = new LinkedHashMap<>(Map.of("backend", backend.name()));
        kernels.putAll(backend.details());
    }

    @Override
    public void contribute(Info.Builder builder) {
        builder.withDetail("model", model).withDetail("kernels", kernels);
    }
}
