package dev.warmpath.tokenization;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Random texts of what pre-tokenizers, normalizers and byte pairs tell apart: characters of each Unicode category,
 * words, endings, digits and white space of all kinds, marks, emoji, code, markers, broken surrogates. Seeded.
 */
final class HardTexts {
    private static final String[] WORDS = {
        "Hello", " world", " the", "The", " of", "ing", "größe", "Übermut", "naïve", " быть", "слово", "οδός",
        "ΑΒΓ", "ﬁne",
        "שלום", "السريع", "क्षत्रिय", "สวัสดี", "日本語", "、", "你好", "한국어", "ʰʲ", "ªº", "ǅungla", "camelCase",
        "XMLHttp", "H2O", "iPhone", "ABCdef", "中A", "Aあb", "𝔘𝔫𝔦", "𐐀𐐨", "xX",
        "ひらカタ", "ア・イー", "゠・", "か\u3099", "\u309b", "龥龦", "\u0001\u0002", "\u200b\u200ba", "'sé"};
    private static final String[] ENDINGS = {
        "'s", "'S", "'t", "'re", "'RE", "'Ve", "'m", "'ll", "'lL", "'l", "'d", "'D", "'", "''s", "'\u017f",
        "'\u017fe", "'r", "'x",
        "\u2019s", "'k", "'\u212a"};
    private static final String[] WHITE = {
        " ", "  ", "   ", "        ", "\n", "\n\n", "\r\n", "\r", "\t", "\t\t", " \n", "\n ", " \n  ", "\u00a0",
        "\u3000", "\u2028", "\u0085",
        "\u000b", "\u000c", " \u00a0", "\u2003\n", "\u200b", "\ufeff", "\u1680", "\u202f", "\u001f", "\u180e"};
    private static final String[] DIGITS = {
        "0", "7", "42", "123", "1234", "1234567", "٣", "١٢٣", "१२", "½", "²³", "Ⅷ", "一", "𝟘", "𝟘𝟙𝟚𝟛"};
    private static final String[] SIGNS = {
        ".", "...", ",", "!?", "//", "/", "/\n", "(){}", "=>", "->", "–", "“", "$", "€", "_", "__", "#", "*/",
        "<|", "|>", "\\", "~",
        "!\n\n", "?\r\n", "'\"", "\u00ad", "\ufffd", "\0", "\u007f", "§", "▁", "▁▁", "▁a", "<unk>", "<0x41>"};
    private static final String[] EMOJI = {
        "😀", "👩‍👩‍👧", "🇩🇪", "🇩🇪🇫🇷", "❤️", "👍🏽", "🏴‍☠️", "\u200d", "\ufe0f", "☃"};
    private static final String[] MARKS = {
        "\u0301", "\u0323\u0301", "\u0301\u0323", "e\u0301", "A\u030a", "\u212b", "\u0928\u093f",
        "\u1100\u1161\u11a8", "\uac00\u11a8", "\u0344", "\u0f73",
        "\ud834\udd5e", "\u05d0\u05bc", "\u0e33", "\u20dd", " \u0301", "1\u0301", "\n\u0301", "-\u0327"};
    private static final String[] MARKERS = {
        "<|begin|>", "<|end|>", "<|user|>", "<|user", "user|>", "<|assistant|>", "<|wide|>", " <|wide|> ",
        "<think>", "</think>",
        "<|pad|>", "<|endoftext|>", "<s>", "</s>"};
    private static final String[] BROKEN = {"\ud800", "\udc00", "\ud83d", "\ude00\ud83d", "a\udfffb"};
    private static final String LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    private static final String[][] KINDS = {
        WORDS, WORDS, WORDS, ENDINGS, WHITE, WHITE, DIGITS, SIGNS, SIGNS, EMOJI, MARKS, MARKERS};
    private static final List<int[]> BY_CATEGORY = byCategory();

    private final Random random;

    HardTexts(long seed) {
        random = new Random(seed);
    }

    private static List<int[]> byCategory() {
        var categories = new ArrayList<int[]>();
        for (int category = 0; category <= 30; category++) {
            int wanted = category;
            int[] all = java.util.stream.IntStream.rangeClosed(0, Character.MAX_CODE_POINT)
                    .filter(c -> Character.getType(c) == wanted && wanted != Character.UNASSIGNED).toArray();
            if (all.length > 0) {
                categories.add(all);
            }
        }
        return categories;
    }

    /** Of that many pieces at most. */
    String next(int most) {
        var text = new StringBuilder();
        for (int left = random.nextInt(most + 1); left > 0; left--) {
            text.append(piece());
        }
        return text.toString();
    }

    private String piece() {
        int kind = random.nextInt(KINDS.length + 6);
        if (kind < KINDS.length) {
            return KINDS[kind][random.nextInt(KINDS[kind].length)];
        }
        return switch (kind - KINDS.length) {
            case 0, 1 -> characters(1 + random.nextInt(3));
            case 2 -> letters(1 + random.nextInt(20));
            case 3 -> KINDS[4][random.nextInt(WHITE.length)].repeat(1 + random.nextInt(12));
            case 4 -> random.nextInt(4) == 0 ? BROKEN[random.nextInt(BROKEN.length)] : letters(2);
            // some are unassigned: their texts are the library's
            default -> random.nextInt(40) == 0 ? Character.toString(random.nextInt(0x110000)) : " " + letters(5);
        };
    }

    private String characters(int count) {
        var text = new StringBuilder();
        int[] category = BY_CATEGORY.get(random.nextInt(BY_CATEGORY.size()));
        for (int i = 0; i < count; i++) {
            text.appendCodePoint(category[random.nextInt(category.length)]);
        }
        return text.toString();
    }

    private String letters(int count) {
        var text = new StringBuilder();
        for (int i = 0; i < count; i++) {
            text.append(LETTERS.charAt(random.nextInt(LETTERS.length())));
        }
        return text.toString();
    }
}
