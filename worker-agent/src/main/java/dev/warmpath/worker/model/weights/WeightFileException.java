package dev.warmpath.worker.model.weights;

import java.nio.file.Path;

/** A weight file that cannot be trusted; the message names the file, the tensor and the offset in the file. */
public final class WeightFileException extends RuntimeException {

    private static final long serialVersionUID = 1;

    /** Stands where the whole file or its header is meant. */
    static final String NO_TENSOR = "(header)";

    private final transient Path file;
    private final String tensor;
    private final long offset;

    WeightFileException(Path file, String tensor, long offset, String problem) {
        super("%s: tensor %s at byte %d: %s".formatted(file, tensor, offset, problem));
        this.file = file;
        this.tensor = tensor;
        this.offset = offset;
    }

    public Path file() {
        return file;
    }

    public String tensor() {
        return tensor;
    }

    /** Byte in the file where what is wrong begins. */
    public long offset() {
        return offset;
    }
}
