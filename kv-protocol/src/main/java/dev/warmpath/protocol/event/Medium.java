package dev.warmpath.protocol.event;

/** Where an announced block lies. The code is what goes over the wire. */
public enum Medium {
    /** The memory that attention reads: GPU memory, or main memory on the CPU backend. */
    DEVICE(0),
    /** Host memory beside a GPU: must be copied before use. */
    HOST(1);

    private final int code;

    Medium(int code) {
        this.code = code;
    }

    int code() {
        return code;
    }

    static Medium ofCode(int code) {
        return switch (code) {
            case 0 -> DEVICE;
            case 1 -> HOST;
            default -> throw new EventFormatException("medium " + code + " is not known");
        };
    }
}
