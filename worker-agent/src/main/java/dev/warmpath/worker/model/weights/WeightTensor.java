package dev.warmpath.worker.model.weights;

import dev.warmpath.worker.compute.WeightFormat;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * One tensor of a weight file.
 * @param shape  dimensions, outermost first; their product is how many elements the values hold
 * @param values little-endian, row-major, any alignment, read-only; lives as long as the file is open
 */
public record WeightTensor(String name, WeightFormat format, List<Integer> shape, MemorySegment values) {

    public WeightTensor {
        shape = List.copyOf(shape);
    }
}
