package dev.warmpath.protocol.pool;

import com.fasterxml.jackson.annotation.JsonProperty;

/** What a block is used for, as one may draw it. */
public enum BlockState {
    /** Block 0: it stands for positions that are skipped. */
    @JsonProperty("null")
    NULL(0),
    /** Nobody holds it, and nothing in it can be found. */
    @JsonProperty("free")
    FREE(1),
    /** Nobody holds it, but a prompt that begins like it will find it. */
    @JsonProperty("cached")
    CACHED(2),
    /** One sequence holds it, and it is not full, or not to be found. */
    @JsonProperty("filling")
    FILLING(3),
    /** One sequence holds it, and others would find it. */
    @JsonProperty("used")
    USED(4),
    /** Several sequences hold it. */
    @JsonProperty("shared")
    SHARED(5);

    private static final int NULL_BLOCK = 0;

    private final int code;

    BlockState(int code) {
        this.code = code;
    }

    /** 0 to 5. */
    public int code() {
        return code;
    }

    /** @param keyed whether it carries a key, by which it is found */
    public static BlockState of(int block, int references, boolean keyed) {
        if (block == NULL_BLOCK) {
            return NULL;
        }
        return switch (references) {
            case 0 -> keyed ? CACHED : FREE;
            case 1 -> keyed ? USED : FILLING;
            default -> SHARED;
        };
    }
}
