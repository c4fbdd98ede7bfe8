package dev.warmpath.router.health;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.Locale;

/** Whether new requests go to a worker that is ready, as far as its health says. */
public enum HealthState {
    /** They do. */
    @JsonProperty("healthy")
    HEALTHY,
    /** They do not: it failed too often, or was far slower than the others, a moment ago. */
    @JsonProperty("ejected")
    EJECTED,
    /** One at a time may, to see whether it has recovered. */
    @JsonProperty("on_trial")
    ON_TRIAL,
    /** They do not: it answers nothing that this router asks, though its heartbeats may come. */
    @JsonProperty("unreachable")
    UNREACHABLE;

    /** As meters and answers call it. */
    public String text() {
        return name().toLowerCase(Locale.ROOT);
    }
}
