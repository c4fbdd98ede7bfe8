package dev.warmpath.tokenization.template;

import java.util.Locale;
import java.util.function.IntPredicate;

/** Capital and small letters as Python has them. */
final class TextCase {
    private TextCase() {}

    static Text upper(Text text, RenderContext context) {
        context.chars(text.chars().length());
        return text.withChars(text.chars().toUpperCase(Locale.ROOT));
    }

    static Text lower(Text text, RenderContext context) {
        context.chars(text.chars().length());
        return text.withChars(text.chars().toLowerCase(Locale.ROOT));
    }

    static Text folded(Text text, RenderContext context) {
        context.chars(2L * text.chars().length());
        return text.withChars(text.chars().toUpperCase(Locale.ROOT).toLowerCase(Locale.ROOT));
    }

    static Text capitalize(Text text, RenderContext context) {
        context.chars(text.chars().length());
        String lower = text.chars().toLowerCase(Locale.ROOT);
        if (lower.isEmpty()) {
            return text;
        }
        int first = lower.codePointAt(0);
        return text.withChars(
                Character.toString(Character.toTitleCase(first)) + lower.substring(Character.charCount(first)));
    }

    /** As Python's method: words are runs of letters that have a case. */
    static Text title(Text text, RenderContext context) {
        context.chars(text.chars().length());
        var titled = new StringBuilder(text.chars().length());
        boolean insideWord = false;
        for (int codePoint : text.chars().codePoints().toArray()) {
            titled.appendCodePoint(insideWord ? Character.toLowerCase(codePoint) : Character.toTitleCase(codePoint));
            insideWord = isCased(codePoint);
        }
        return text.withChars(titled.toString());
    }

    /** As Jinja's filter: words begin behind spaces, hyphens and opening brackets. */
    static Text titleWords(Text text, RenderContext context) {
        context.chars(text.chars().length());
        var titled = new StringBuilder(text.chars().length());
        boolean begins = true;
        for (int codePoint : text.chars().codePoints().toArray()) {
            boolean separates = Text.isSpace(codePoint) || "-({[<".indexOf(codePoint) >= 0;
            String one = Character.toString(codePoint);
            titled.append(separates ? one : begins ? one.toUpperCase(Locale.ROOT) : one.toLowerCase(Locale.ROOT));
            begins = separates;
        }
        return text.withChars(titled.toString()).asMarkup(false);
    }

    static Text swapped(Text text, RenderContext context) {
        context.chars(text.chars().length());
        var swapped = new StringBuilder(text.chars().length());
        for (int codePoint : text.chars().codePoints().toArray()) {
            String one = Character.toString(codePoint);
            swapped.append(Character.isUpperCase(codePoint) ? one.toLowerCase(Locale.ROOT)
                    : Character.isLowerCase(codePoint) ? one.toUpperCase(Locale.ROOT) : one);
        }
        return text.withChars(swapped.toString());
    }

    /** Whether there are letters that have a case, and each of them is such. */
    static boolean isAll(Text text, IntPredicate holds, RenderContext context) {
        context.read(text.chars().length());
        return text.chars().codePoints().anyMatch(TextCase::isCased)
                && text.chars().codePoints().filter(TextCase::isCased).allMatch(holds);
    }

    static boolean isNumeric(int codePoint) {
        return switch (Character.getType(codePoint)) {
            case Character.DECIMAL_DIGIT_NUMBER, Character.LETTER_NUMBER, Character.OTHER_NUMBER -> true;
            default -> false;
        };
    }

    private static boolean isCased(int codePoint) {
        return Character.isUpperCase(codePoint) || Character.isLowerCase(codePoint) || Character.isTitleCase(codePoint);
    }
}
