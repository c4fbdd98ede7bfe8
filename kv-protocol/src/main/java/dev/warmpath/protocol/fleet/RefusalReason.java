package dev.warmpath.protocol.fleet;

import com.fasterxml.jackson.annotation.JsonProperty;

/** Why a router does not take a registration or a heartbeat; the {@code reason} of its problem answer. */
public enum RefusalReason {
    /** Some value cannot be right; registering again as it is has no use. */
    @JsonProperty("invalid")
    INVALID,
    /** The two ends speak different versions of this protocol. */
    @JsonProperty("protocol_version")
    PROTOCOL_VERSION,
    /** The revision is known with other parts, or is not the digest of its parts. */
    @JsonProperty("revision_contradiction")
    REVISION_CONTRADICTION,
    /** A later life of this worker id is registered and alive: this one is fenced. */
    @JsonProperty("older_epoch")
    OLDER_EPOCH,
    /** The heartbeat's worker is not registered (any more): register again. */
    @JsonProperty("unknown_worker")
    UNKNOWN_WORKER,
    /** The fleet token is missing or wrong. */
    @JsonProperty("unauthorized")
    UNAUTHORIZED,
    /** The router holds as many workers as it is set to hold. */
    @JsonProperty("fleet_full")
    FLEET_FULL
}
