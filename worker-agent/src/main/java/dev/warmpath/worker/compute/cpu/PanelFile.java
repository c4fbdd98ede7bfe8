package dev.warmpath.worker.compute.cpu;

/**
 * What a file of packed weights looks like; numbers are big-endian.
 * <pre>
 *   panels    each aligned to {@link PanelPlace#ALIGNMENT} bytes
 *   index     for each weight, in the order in which they were allocated:
 *               int rows, int columns
 *               for each of its panels: byte format, as its place in {@link PanelFormat#all}, long where it begins
 *   trailer   long {@link #MAGIC}, long where the index begins, int bytes of it, int CRC32C of it
 * </pre>
 */
final class PanelFile {

    static final long MAGIC = 0x7770_7061_6e65_6c31L;      // wppanel1
    static final int TRAILER_BYTES = 2 * Long.BYTES + 2 * Integer.BYTES;

    private PanelFile() {}
}
