package dev.warmpath.tokenization;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The library's tokenizers for text between added tokens: one for a prompt's first segment, one for the others. */
final class LibrarySegments {
    private record Pair(NativeTokenizer first, NativeTokenizer later) {
        static Pair of(TokenizerJson json) {
            var first = new NativeTokenizer(json.forSegments(true));
            return new Pair(first, json.treatsStartApart() ? new NativeTokenizer(json.forSegments(false)) : first);
        }
    }

    private final Supplier<TokenizerJson> json;
    private volatile @Nullable Pair pair;

    /** Made when first asked for. */
    LibrarySegments(Supplier<TokenizerJson> json) {
        this.json = json;
    }

    /** Made now. */
    LibrarySegments(TokenizerJson json) {
        this.json = () -> json;
        pair = Pair.of(json);
    }

    int[] encode(String segment, boolean first) {
        Pair made = pair();
        return (first ? made.first : made.later).encode(segment, false);
    }

    private Pair pair() {
        Pair made = pair;
        return made != null ? made : make();
    }

    private synchronized Pair make() {
        Pair made = pair;
        if (made == null) {
            made = Pair.of(json.get());
            pair = made;
        }
        return made;
    }
}
