package dev.warmpath.tokenization;

import dev.warmpath.tokenization.bpe.BpeEncoder;
import dev.warmpath.tokenization.bpe.Recognition;
import dev.warmpath.tokenization.bpe.TokenIds;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ids of the text between two added tokens, which depend on nothing around it but whether it is the first. Safe for
 * concurrent use.
 *
 * <p>Our own encoder does it where it knows the tokenizer; the library does what is left, and may be all. Beside our
 * own encoder few texts are: the library's tokenizers, which take the time and memory of a model, wait for the first.
 */
final class SegmentEncoder {
    private static final Logger log = LoggerFactory.getLogger(SegmentEncoder.class);

    private final @Nullable BpeEncoder own;
    private final LibrarySegments library;
    private final SegmentCache cache;
    private final boolean startsApart;
    private final Object cacheOwner = new Object();

    private SegmentEncoder(@Nullable BpeEncoder own, LibrarySegments library, SegmentCache cache, boolean startsApart) {
        this.own = own;
        this.library = library;
        this.cache = cache;
        this.startsApart = startsApart;
    }

    /** @param again reads the same file again, should the library be needed after all */
    static SegmentEncoder of(TokenizerJson json, Supplier<TokenizerJson> again, SegmentCache cache) {
        return switch (json.recognition()) {
            case Recognition.Recognised(BpeEncoder encoder) ->
                    new SegmentEncoder(encoder, new LibrarySegments(again), cache, json.treatsStartApart());
            case Recognition.Unknown(String what) -> {
                log.info("this model's prompts are encoded by the library, slower by far: not known here is {}",
                        what.length() > 200 ? what.substring(0, 200) + "…" : what);
                yield ofLibrary(json, cache);
            }
        };
    }

    static SegmentEncoder ofLibrary(TokenizerJson json, SegmentCache cache) {
        return new SegmentEncoder(null, new LibrarySegments(json), cache, json.treatsStartApart());
    }

    boolean isOwn() {
        return own != null;
    }

    /** The same as {@link #encode}, remembered if the segment is long. */
    boolean encodeOnce(String segment, boolean first, TokenIds ids) {
        return once(segment, first, ids, this::encode);
    }

    /** The same without the library: false, and nothing added, where it would be needed. */
    boolean encodeOnceAlone(String segment, boolean first, TokenIds ids) {
        return once(segment, first, ids, (text, start, to) -> own != null && own.encode(text, start, to));
    }

    private boolean once(String segment, boolean first, TokenIds ids, ModelTokenizer.Segments encoder) {
        if (segment.length() < SegmentCache.LEAST_CHARS) {
            return encoder.encode(segment, first, ids);
        }
        int @Nullable [] known = cache.get(cacheOwner, segment, first && startsApart);
        if (known != null) {
            ids.addAll(known);
            return true;
        }
        int before = ids.count();
        if (!encoder.encode(segment, first, ids)) {
            return false;
        }
        cache.put(cacheOwner, segment, first && startsApart, ids.toArray(before));
        return true;
    }

    /** @param first whether a prompt begins with this segment @return true */
    boolean encode(String segment, boolean first, TokenIds ids) {
        if (own == null || !own.encode(segment, first, ids)) {
            ids.addAll(library.encode(segment, first));
        }
        return true;
    }
}
