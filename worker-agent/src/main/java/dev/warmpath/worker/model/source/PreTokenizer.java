package dev.warmpath.worker.model.source;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How a byte-level tokenizer cuts a text into words before these are merged: a GGUF file has no more of it than a name,
 * {@code tokenizer.ggml.pre}. Names, patterns and what else goes with a name: llama.cpp, llama-vocab.cpp; patterns in
 * the spelling of the models' own tokenizer.json.
 */
enum PreTokenizer {
    GPT2(Words.GPT2, List.of(), Then.NOTHING, "gpt-2", "phi-2", "gigachat", "a.x-4.0", "mellum", "mpt", "olmo", "jais",
            "trillion", "granite-docling", "exaone4"),
    SINGLE_DIGITS_THEN_GPT2(Words.SINGLE_DIGITS_THEN_GPT2, List.of(), Then.NOTHING, "smollm", "starcoder", "refact",
            "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"),
    LLAMA3(Words.PATTERNS, List.of(Patterns.cl100k(3)), Then.WHOLE_WORDS_AND_BEGIN, "llama-bpe", "llama3", "llama-v3",
            "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"),
    CL100K(Words.PATTERNS, List.of(Patterns.cl100k(3)), Then.NOTHING, "dbrx", "smaug-bpe", "chatglm-bpe"),
    GLM4(Words.PATTERNS, List.of(Patterns.cl100k(3)), Then.WHOLE_WORDS, "glm4", "glm5"),
    QWEN2(Words.PATTERNS, List.of(Patterns.cl100k(1)), Then.COMPOSED_BEFORE, "qwen2"),
    CL100K_SINGLE_DIGITS(Words.PATTERNS, List.of(Patterns.cl100k(1)), Then.NOTHING, "deepseek-r1-qwen", "kormo",
            "f2llmv2", "stablelm2", "megrez", "hunyuan", "grok-2", "solar-open"),
    QWEN35(Words.PATTERNS, List.of(Patterns.QWEN35), Then.NOTHING, "qwen35"),
    TEKKEN(Words.PATTERNS, List.of(Patterns.o200k("", 1)), Then.WHOLE_WORDS_AND_BEGIN, "tekken"),
    O200K(Words.PATTERNS, List.of(Patterns.o200k(Patterns.ENDINGS + "?", 3)), Then.NOTHING, "gpt-4o", "llama4",
            "kanana2", "minimax-m2"),
    DEEPSEEK_LLM(Words.PATTERNS, Patterns.DEEPSEEK_LLM, Then.NOTHING, "deepseek-llm"),
    DEEPSEEK_CODER(Words.PATTERNS, Patterns.DEEPSEEK_CODER, Then.NOTHING, "deepseek-coder"),
    DEEPSEEK_V3(Words.PATTERNS, Patterns.DEEPSEEK_V3, Then.NOTHING, "deepseek-v3", "hunyuan-dense", "joyai-llm",
            "hy_v4"),
    SEED_CODER(Words.PATTERNS, List.of(Patterns.SEED_CODER), Then.NOTHING, "seed-coder"),
    BAILING(Words.PATTERNS, List.of(Patterns.BAILING), Then.NOTHING, "bailingmoe", "bailingmoe2", "llada-moe"),
    BLOOM(Words.PATTERNS, List.of(Patterns.BLOOM), Then.NOTHING, "bloom", "poro-chat", "gpt3-finnish"),
    VIKING(Words.PATTERNS, List.of(Patterns.BLOOM, "\\p{N}"), Then.NOTHING, "viking"),
    FALCON(Words.PATTERNS, List.of("[\\p{P}\\$\\+<=>\\^~\\|`]+", Patterns.GPT2, "[0-9][0-9][0-9]"), Then.NOTHING,
            "falcon"),
    /** Of files without a name, too: such as were made before names, and are cut otherwise than their models learnt. */
    DEFAULT(Words.PATTERNS, List.of("[\\p{P}\\$\\+<=>\\^~\\|]+", Patterns.GPT2, "\\p{N}+", "[0-9][0-9][0-9]"),
            Then.NOTHING, "default");

    /** What cuts. */
    enum Words {
        /** GPT-2's pattern, which the library's ByteLevel has built in. */
        GPT2,
        /** Each digit by itself, then the same. */
        SINGLE_DIGITS_THEN_GPT2,
        /** Patterns, one after the other; what is between their matches is words, too. */
        PATTERNS
    }

    /** What else goes with a name. */
    enum Then {
        NOTHING,
        /** A word that is a token is that token, whatever its merges would make. */
        WHOLE_WORDS,
        /** And a begin token is put before a text, unless the file says otherwise. */
        WHOLE_WORDS_AND_BEGIN,
        /** The text is composed first (NFC), as the models' own tokenizer.json has it; llama.cpp leaves that out. */
        COMPOSED_BEFORE
    }

    /** Texts of patterns. */
    private static final class Patterns {
        static final String ENDINGS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
        static final String GPT2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
        static final String QWEN35 = ENDINGS + "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}"
                + "| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
        static final String SEED_CODER = ENDINGS + "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}"
                + "| ?[^\\s\\p{L}\\p{N}\\r\\n]+|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
        static final String BAILING = "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}"
                + "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+";
        static final String BLOOM = " ?[^(\\s|.,!?…。，、।۔،)]+";
        static final String EAST_ASIAN = "[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+";
        static final List<String> DEEPSEEK_LLM = List.of("[\r\n]", "\\s?["
                + "A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅ"
                + "ὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎ"
                + "ꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃"
                + "]+", "\\s?[!-/:-~！-／：-～‘-‟\u3000-。]+", "\\s+$", EAST_ASIAN, "\\p{N}+");
        static final List<String> DEEPSEEK_CODER =
                List.of("[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", EAST_ASIAN, "\\p{N}");
        static final List<String> DEEPSEEK_V3 = List.of("\\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+",
                "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
                + "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+");

        static String cl100k(int mostDigits) {
            return ENDINGS + "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|%s| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+"
                    .formatted(digits(mostDigits)) + "|\\s+(?!\\S)|\\s+";
        }

        static String o200k(String endings, int mostDigits) {
            return ("[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+%1$s"
                    + "|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*%1$s"
                    + "|%2$s| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+")
                    .formatted(endings, digits(mostDigits));
        }

        private static String digits(int most) {
            return most == 1 ? "\\p{N}" : "\\p{N}{1,%d}".formatted(most);
        }
    }

    final Words words;
    /** Regular expressions of Oniguruma's, with {@link Words#PATTERNS} only. */
    final List<String> patterns;
    private final Then then;
    private final List<String> names;

    PreTokenizer(Words words, List<String> patterns, Then then, String... names) {
        this.words = words;
        this.patterns = patterns;
        this.then = then;
        this.names = List.of(names);
    }

    /** @return null if nothing is called so */
    static @Nullable PreTokenizer named(String name) {
        return Arrays.stream(values()).filter(one -> one.names.contains(name)).findFirst().orElse(null);
    }

    static List<String> allNames() {
        return Arrays.stream(values()).flatMap(one -> one.names.stream()).sorted(Comparator.naturalOrder()).toList();
    }

    boolean composes() {
        return then == Then.COMPOSED_BEFORE;
    }

    boolean ignoresMerges() {
        return then == Then.WHOLE_WORDS || then == Then.WHOLE_WORDS_AND_BEGIN;
    }

    boolean addsBegin() {
        return then == Then.WHOLE_WORDS_AND_BEGIN;
    }
}
