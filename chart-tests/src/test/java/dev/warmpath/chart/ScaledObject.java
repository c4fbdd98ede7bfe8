package dev.warmpath.chart;

import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.annotation.JsonDeserialize;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.autoscaling.v2.HorizontalPodAutoscalerBehavior;
import io.fabric8.kubernetes.model.annotation.Group;
import io.fabric8.kubernetes.model.annotation.Version;
import java.io.Serial;
import java.io.Serializable;
import java.util.List;
import java.util.Map;

/**
 * KEDA's, as far as the chart uses it: {@code keda.sh/v1alpha1}, from its documented specification.
 */
@JsonDeserialize(using = JsonDeserializer.None.class)
@Group("keda.sh")
@Version("v1alpha1")
final class ScaledObject implements HasMetadata {

    @Serial
    private static final long serialVersionUID = 1;

    public String apiVersion = "";
    public String kind = "";
    public ObjectMeta metadata = new ObjectMeta();
    public Spec spec =
            new Spec(new Target(""), 0, 0, new Advanced(new Config(new HorizontalPodAutoscalerBehavior())), List.of());

    record Spec(
            Target scaleTargetRef, int minReplicaCount, int maxReplicaCount, Advanced advanced, List<Trigger> triggers)
            implements Serializable {}

    record Target(String name) implements Serializable {}

    record Advanced(Config horizontalPodAutoscalerConfig) implements Serializable {}

    record Config(HorizontalPodAutoscalerBehavior behavior) implements Serializable {}

    record Trigger(String type, String metricType, Map<String, String> metadata) implements Serializable {}

    @Override
    public ObjectMeta getMetadata() {
        return metadata;
    }

    @Override
    public void setMetadata(ObjectMeta metadata) {
        this.metadata = metadata;
    }

    @Override
    public String getApiVersion() {
        return apiVersion;
    }

    @Override
    public void setApiVersion(String version) {
        apiVersion = version;
    }
}
