package dev.warmpath.tokenization.bpe;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.text.Normalizer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class CompositionTest {
    private final LibraryPatterns library = LibraryPatterns.composing();

    /** Alone, in parts, and between marks of other classes, which tells how it is sorted. */
    @Test
    void every_character_is_composed_as_the_library_does_or_left_to_it() {
        List<String> unlike = new ArrayList<>();
        IntStream.rangeClosed(0x80, Character.MAX_CODE_POINT)
                .filter(c -> CharClass.of(c) != CharClass.DISPUTED && Character.getType(c) != Character.SURROGATE)
                .forEach(c -> {
                    String alone = Character.toString(c);
                    String parts = Normalizer.normalize(alone, Normalizer.Form.NFD);
                    boolean special = !parts.equals(alone) || (CharClass.of(c) & CharClass.MARK) != 0;
                    for (String text : special
                            ? List.of(alone, parts, "a\u0315" + alone, "a\u0315" + parts, "a" + alone + "\u0334")
                            : List.of("a\u0315" + alone + "\u0334")) {
                        @Nullable String composed = Composition.of(text);
                        if (composed != null && !composed.equals(composedByLibrary(text))) {
                            unlike.add("U+%04X".formatted(c));
                        }
                    }
                });
        assertThat(unlike).isEmpty();
    }

    private String composedByLibrary(String text) {
        int[] ids = library.ids(text);
        var bytes = new byte[ids.length];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) ids[i];
        }
        return new String(bytes, StandardCharsets.UTF_8);
    }

    @Test
    void more_marks_in_a_row_than_128_are_the_librarys() {
        assertThat(Composition.of("a" + "\u0316".repeat(128))).isNotNull();
        assertThat(Composition.of("a" + "\u0316".repeat(129))).isNull();
        assertThat(Composition.of(("a" + "\u0316".repeat(100)).repeat(3))).isNotNull();
        assertThat(Composition.of("e\u0301")).isEqualTo("\u00e9");
    }
}
