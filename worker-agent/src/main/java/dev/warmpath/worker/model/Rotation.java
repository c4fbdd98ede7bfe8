package dev.warmpath.worker.model;

/**
 * How the heads of a layer are turned by their position (Su et al., RoFormer, arXiv 2104.09864): pair i of the elements
 * by position · f(i), where f(i) = theta^(−2i / size), if nothing scales it.
 *
 * @param size    leading elements of a head that are turned, even; 0: none, heads do not know their position
 * @param theta   base of the angles, above 0
 * @param scaling what becomes of the frequencies
 */
public record Rotation(int size, double theta, RotaryScaling scaling) {

    /** Of layers without positions (Kazemnejad et al., arXiv 2305.19466). */
    public static final Rotation NONE = new Rotation(0, 1, new RotaryScaling.Plain());

    public Rotation {
        if (size < 0 || size % 2 != 0 || !(theta > 0)) {
            throw new UnsupportedModelException("no heads turn %d elements to the base %s".formatted(size, theta));
        }
    }

    public static Rotation plain(int size, double theta) {
        return new Rotation(size, theta, new RotaryScaling.Plain());
    }
}
