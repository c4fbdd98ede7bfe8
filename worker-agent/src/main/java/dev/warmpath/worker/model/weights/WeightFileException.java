package dev.warmpath.worker.model.weights;

import dev.warmpath.protocol.process.ForeignText;
import java.nio.file.Path;

/** A weight file that cannot be trusted; the message names the file, the part of it and the offset in the file. */
public final class WeightFileException extends RuntimeException {

    private static final long serialVersionUID = 1;

    /** Stands where the whole file or its header is meant. */
    static final String HEADER = "header";

    private static final int SHOWN_CHARS = 200;

    private final transient Path file;
    private final String part;
    private final long offset;

    WeightFileException(Path file, String part, long offset, String problem) {
        super("%s: %s at byte %d: %s".formatted(file, part, offset, problem));
        this.file = file;
        this.part = part;
        this.offset = offset;
    }

    static String tensor(String name) {
        return "tensor " + shown(name);
    }

    static String key(String name) {
        return "key " + shown(name);
    }

    /** What a file says, as it may stand in a message. */
    static String shown(String text) {
        return ForeignText.oneLine(text, SHOWN_CHARS);
    }

    public Path file() {
        return file;
    }

    /** Such as {@code tensor model.norm.weight}, {@code key general.alignment} or {@code header}. */
    public String part() {
        return part;
    }

    /** Byte in the file where what is wrong begins. */
    public long offset() {
        return offset;
    }
}
