package dev.warmpath.protocol.fleet;

/**
 * The model that a worker brings.
 *
 * @param name           what clients write as {@code model}
 * @param revision       {@link RevisionParts#revision()} of {@code parts}
 * @param parts          what the revision was computed from
 * @param createdSeconds when the weights were written, seconds since 1970: for clients to see, it decides nothing
 * @param vocabularySize token ids run from 0 to this less one
 */
public record ModelDescription(
        String name,
        String revision,
        RevisionParts parts,
        long createdSeconds,
        int vocabularySize) {

    /** See {@link RevisionParts}. */
    public int contextLength() {
        return parts.contextLength();
    }
}
