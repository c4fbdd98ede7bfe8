package dev.warmpath.worker.model.source;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A small file of a model. */
public sealed interface ModelFile {

    /** The bytes belong to whoever asks. */
    byte[] content() throws IOException;

    /** @param path a real one */
    record Stored(Path path) implements ModelFile {
        @Override
        public byte[] content() throws IOException {
            return Files.readAllBytes(path);
        }
    }

    /** Made of what a GGUF file says. @param bytes nobody writes to them */
    record Made(byte[] bytes) implements ModelFile {
        @Override
        public byte[] content() {
            return bytes.clone();
        }
    }
}
