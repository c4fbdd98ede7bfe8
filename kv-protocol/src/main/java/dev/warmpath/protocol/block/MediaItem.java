package dev.warmpath.protocol.block;

/**
 * An image, a sound or a film inside a prompt: placeholder tokens stand where it is, and they are the same for any
 * other of its kind. So the item itself becomes part of the hash of every block that it reaches into.
 *
 * @param identifier names the content, usually by its hash; not empty
 * @param offset     position of its first placeholder token in the prompt, at least 0
 * @param length     placeholder tokens, at least 1
 */
public record MediaItem(String identifier, int offset, int length) {

    public MediaItem {
        if (identifier.isEmpty()) {
            throw new IllegalArgumentException("a media item at position " + offset + " has no identifier");
        }
        if (offset < 0 || length < 1 || offset > Integer.MAX_VALUE - length) {
            throw new IllegalArgumentException("media item '" + identifier + "' of " + length + " tokens at position "
                    + offset + ": no prompt has this place");
        }
    }

    /** The position after its last placeholder token. */
    public int end() {
        return offset + length;
    }
}
