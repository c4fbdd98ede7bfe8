package dev.warmpath.tokenization;

import dev.warmpath.tokenization.bpe.TokenDecoder;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The last word at load: what is encoded and decoded without the library must come out as the library has it, on a text
 * of all that patterns tell apart and on the whole vocabulary. One that does not agree is left to the library.
 */
final class EncoderProof {
    /** Words, endings, digits, white space, code, scripts, marks, emoji; no character that a Unicode version lacks. */
    static final String TEXT = String.join("\n",
            "The quick brown fox jumps over the lazy dog. It's what they'll do, I'd say: we've DON'T, I'M, YOU'RE",
            "'sup 'S.",
            "Once   upon  a time,\tthere were 1, 12, 123, 1234, 1234567 and 3.14159 models; 50% of $9.99 –",
            "\"quoted\" (so)!",
            "for (int i = 0; i < n; i++) {\r\n\t\tsum += a[i] * b[i];  // dot product\r\n    return x->y != null &&",
            "!done;\r\n}",
            "def f(self, **kw):\n        if not kw:\n\n\n            raise ValueError(f\"{kw!r}\")   \n   \n",
            "https://example.org/a/b?c=d&e=%20#f user@host C:\\path\\file.txt <div class=\"x\">&nbsp;</div> /////",
            "----- =====",
            "camelCase PascalCase XMLHttpRequest snake_case SCREAMING_CASE iPhone15Pro H2O mRNA ABCdef ABC'S x'sy",
            "It'\u017f",
            "Größe und Übermut, naïve café résumé, cafe\u0301 re\u0301sume\u0301, \u00c5ngstr\u00f6m \u212bA\u030a,",
            "ﬁne ǅungla ʰʲ ªº",
            "Быть или не быть, вот в чём вопрос. Η ταχεία αλεπού. השועל החום. الثعلب البني السريع ١٢٣ ۴۵۶. लोमड़ी",
            "क्षत्रिय १२३",
            "日本語のテキスト、日本の首都は東京です。你好,世界!한국어 문장입니다. สวัสดีชาวโลก ภาษาไทย 12๓๔ Ⅷ ½ ² ③ 一二三〇",
            "😀😃 👩‍👩‍👧 🇩🇪🇫🇷 ❤️ 👍🏽 🏴‍☠️ ♥ → ∑∫√ §¶ ©® €£¥ \u00ad\u200b\u200d\ufeff\ufffd 𝔘𝔫𝔦 𝟘𝟙 𐍈 𠀀",
            "\u00a0\u00a0x\u3000 \u2003y\u2028z\u0085 \013\014\037\0\177 a\u00a0b  \u00a0 \n \t \u3000\n\n  end   ");

    private static final Logger log = LoggerFactory.getLogger(EncoderProof.class);

    private final NativeTokenizer library;

    /** @param library the whole tokenizer */
    EncoderProof(NativeTokenizer library) {
        this.library = library;
    }

    /** @param otherwise makes the one that leaves all to the library */
    SegmentEncoder agreeing(SegmentEncoder tried, List<AddedToken> added,
            BiFunction<SegmentEncoder, String, int[]> encode, Supplier<SegmentEncoder> otherwise) {
        if (!tried.isOwn() || texts(added).allMatch(
                text -> Arrays.equals(encode.apply(tried, text), library.encode(text, false)))) {
            return tried;
        }
        log.warn("this model's prompts are encoded by the library, slower by far: our own encoder gave other ids");
        return otherwise.get();
    }

    /** Text behind an added token may begin unlike a prompt. */
    private static Stream<String> texts(List<AddedToken> added) {
        return Stream.concat(Stream.of(TEXT, " " + TEXT), added.stream().filter(token -> !token.normalized()).limit(1)
                .map(AddedToken::content).map(marker -> marker + "word" + marker + " word" + marker));
    }

    /** @return null if ids are the library's to decode */
    @Nullable TokenDecoder agreeing(@Nullable TokenDecoder tried, int vocabularySize) {
        if (tried == null) {
            return null;
        }
        int[] all = IntStream.range(0, vocabularySize).toArray();
        if (agrees(tried, all) && agrees(tried, library.encode(TEXT, false))) {
            return tried;
        }
        log.warn("this model's tokens are decoded by the library: our own decoder gave another text");
        return null;
    }

    private boolean agrees(TokenDecoder tried, int[] ids) {
        return tried.decode(ids, 0, ids.length, false).equals(library.decode(ids, 0, ids.length, false));
    }
}
