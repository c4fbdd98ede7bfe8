package dev.warmpath.tokenization.bpe;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What characters are here is what they are to the library's regular expressions: all that Unicode has room for. */
class CharClassTest {
    private static final String SIGNS = "!#$%&*+@";
    private static final String[] PATTERNS = {
        "[\\p{P}\\p{S}]", "[\\p{Lu}\\p{Lt}]", "\\p{Ll}", "\\p{L}", "\\p{N}", "\\p{M}", "[\\r\\n]", "\\s"};
    private static final int[] CLASSES = {
        CharClass.OTHER, CharClass.OTHER | CharClass.SIGN,
        CharClass.LETTER | CharClass.UPPER, CharClass.LETTER | CharClass.LOWER, CharClass.LETTER,
        CharClass.NUMBER, CharClass.OTHER | CharClass.MARK, CharClass.SPACE | CharClass.NEWLINE, CharClass.SPACE};

    private static final int BATCH = 4_096;
    private static final Set<Integer> WITHOUT_CASE =
            Set.of((int) Character.OTHER_LETTER, (int) Character.PRIVATE_USE, (int) Character.SURROGATE);

    private static IntStream characters() {
        return IntStream.rangeClosed(0, Character.MAX_CODE_POINT)
                .filter(c -> c < Character.MIN_SURROGATE || c > Character.MAX_SURROGATE);
    }

    @Test
    void every_character_that_the_jdk_knows_has_the_librarys_class() {
        LibraryPatterns library = LibraryPatterns.replacing(PATTERNS, SIGNS);
        int[] all = characters().filter(c -> SIGNS.indexOf(c) < 0).toArray();
        int[] ids = library.ids(new String(all, 0, all.length));
        assertThat(ids).hasSameSizeAs(all);
        List<String> unlike = new ArrayList<>();
        for (int i = 0; i < all.length; i++) {
            int own = CharClass.of(all[i]);
            if (own != CLASSES[ids[i]] && own != CharClass.DISPUTED) {
                unlike.add("U+%04X is %s here, %s to the library".formatted(all[i], own, CLASSES[ids[i]]));
            }
        }
        assertThat(unlike).isEmpty();
        SIGNS.chars().forEach(sign -> assertThat(CharClass.of(sign)).isEqualTo(CharClass.OTHER | CharClass.SIGN));
    }

    /** Digits are cut apart by another table, Rust's own. */
    @Test
    void every_number_that_the_jdk_knows_is_one_to_the_librarys_digits() {
        LibraryPatterns library = LibraryPatterns.words("{\"type\": \"Digits\", \"individual_digits\": true}");
        characters().filter(c -> CharClass.of(c) != CharClass.DISPUTED).forEach(c -> {
            boolean number = library.ids("b" + Character.toString(c)).length == 2;
            if (number != ((CharClass.of(c) & CharClass.NUMBER) != 0)) {
                throw new AssertionError("U+%04X is %s number to the library".formatted(c, number ? "a" : "no"));
            }
        });
    }

    @Test
    void no_other_character_than_the_long_s_is_in_an_english_ending() {
        LibraryPatterns library = LibraryPatterns.replacing(new String[] {"(?i:'s|'t|'re|'ve|'m|'ll|'d)"}, "*");
        List<String> found = new ArrayList<>();
        for (String frame : new String[] {"'%s", "'%se", "'%sl", "'r%s", "'v%s", "'l%s"}) {
            for (int from = 0x80; from <= Character.MAX_CODE_POINT; from += BATCH) {
                List<String> texts = IntStream.range(from, from + BATCH)
                        .filter(c -> Character.isValidCodePoint(c) && CharClass.of(c) != CharClass.DISPUTED
                                && !WITHOUT_CASE.contains(Character.getType(c)))
                        .mapToObj(c -> frame.formatted(Character.toString(c))).toList();
                if (hasEnding(library, String.join("\0", texts))) {
                    texts.stream().filter(text -> hasEnding(library, text)).forEach(found::add);
                }
            }
        }
        assertThat(found).containsExactly("'\u017f", "'\u017fe", "'\u017fl");
    }

    private static boolean hasEnding(LibraryPatterns library, String text) {
        return IntStream.of(library.ids(text)).anyMatch(id -> id == 1);
    }
}
