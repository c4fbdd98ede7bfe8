package dev.warmpath.router.answer.dialect;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a family writes around reasoning and calls, looked for in a text that grows. None begins like another one. */
final class Marks {

    private final List<String> marks;

    Marks(List<String> marks) {
        this.marks = marks;
    }

    /** Where the first one begins, or may begin if the text goes on; the text's length if none does. */
    int beginning(CharSequence text) {
        for (int at = 0; at < text.length(); at++) {
            if (mayBegin(text, at)) {
                return at;
            }
        }
        return text.length();
    }

    /** Which one stands there; null if none does, or not all of it. */
    @Nullable String at(CharSequence text, int at) {
        for (String mark : marks) {
            if (matching(mark, text, at) == mark.length()) {
                return mark;
            }
        }
        return null;
    }

    /** Whether one stands there, or may once the text goes on. */
    boolean mayBegin(CharSequence text, int at) {
        for (String mark : marks) {
            if (matching(mark, text, at) == Math.min(mark.length(), text.length() - at)) {
                return true;
            }
        }
        return false;
    }

    private static int matching(String mark, CharSequence text, int at) {
        int length = Math.min(mark.length(), text.length() - at);
        int matching = 0;
        while (matching < length && text.charAt(at + matching) == mark.charAt(matching)) {
            matching++;
        }
        return matching;
    }
}
