package dev.warmpath.worker.model.weights;

import java.nio.file.Path;
import java.util.List;

/** A file of weights, mapped into memory. Closing unmaps it; its tensors are dead afterwards. */
public interface WeightFile extends AutoCloseable {

    Path path();

    /** Of different names, in the order of the file. */
    List<WeightTensor> tensors();

    @Override
    void close();
}
