package dev.warmpath.tokenization;

import ai.djl.engine.EngineException;
import ai.djl.huggingface.tokenizers.jni.LibUtils;
import ai.djl.huggingface.tokenizers.jni.TokenizersLibrary;
import dev.warmpath.tokenization.bpe.Utf8;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.util.Arrays;

/**
 * One tokenizer of the Hugging Face library (Rust, through DJL's JNI). Safe for concurrent use: the native side only
 * reads. It is not closed by hand: the native memory goes once no request can reach the object any more, so a model
 * that is replaced cannot pull it away from under a request.
 *
 * <p>DJL's own front is passed by: it truncates at 512 tokens unless told otherwise, and copies six arrays per call of
 * which one is wanted here.
 */
final class NativeTokenizer {
    private static final Cleaner CLEANER = Cleaner.create();
    private static final TokenizersLibrary LIBRARY = TokenizersLibrary.LIB;

    private final long handle;

    private record Release(long handle) implements Runnable {
        @Override
        public void run() {
            LIBRARY.deleteTokenizer(handle);
        }
    }

    /** @param json tokenizer.json; what it says of truncation and padding applies */
    NativeTokenizer(String json) {
        loadLibrary();
        try {
            handle = LIBRARY.createTokenizerFromString(json);
        } catch (RuntimeException e) {                           // the library's one error type
            throw new TokenizationException(TokenizationException.Kind.INVALID_MODEL_FILE,
                    "tokenizer.json does not load: " + e.getMessage(), e);
        }
        CLEANER.register(this, new Release(handle));
    }

    private static void loadLibrary() {
        // on a machine with CUDA the loader would look for a CUDA build on the network
        if (System.getenv("RUST_FLAVOR") == null && System.getProperty("RUST_FLAVOR") == null) {
            System.setProperty("RUST_FLAVOR", "cpu");
        }
        try {
            LibUtils.checkStatus();
        } catch (EngineException | LinkageError e) {
            throw new TokenizationException(TokenizationException.Kind.LIBRARY_UNAVAILABLE,
                    "the Hugging Face tokenizers library cannot be loaded here: " + e.getMessage(), e);
        }
    }

    /** @param addSpecialTokens run the post-processor, which puts begin and end tokens around the text */
    int[] encode(String text, boolean addSpecialTokens) {
        // as bytes, half a surrogate pair would become three U+FFFD
        long encoding = LIBRARY.encode(handle, Utf8.withoutLoneSurrogates(text), addSpecialTokens);
        try {
            return toInts(LIBRARY.getTokenIds(encoding));
        } finally {
            LIBRARY.deleteEncoding(encoding);
            Reference.reachabilityFence(this);
        }
    }

    /** Ids that the vocabulary lacks give no text; bytes that are not UTF-8 give U+FFFD. */
    String decode(int[] ids, int from, int to, boolean skipSpecialTokens) {
        var longs = new long[to - from];
        for (int i = 0; i < longs.length; i++) {
            longs[i] = ids[from + i];
        }
        try {
            return LIBRARY.decode(handle, longs, skipSpecialTokens);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    private static int[] toInts(long[] longs) {
        var ints = new int[longs.length];
        Arrays.setAll(ints, i -> (int) longs[i]);
        return ints;
    }
}
