package dev.warmpath.router.tokenization;

import dev.warmpath.router.tokenization.template.RenderedPrompt;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Finds added tokens in a prompt the way the Hugging Face library does (tokenizers 0.21, {@code added_vocabulary.rs}):
 * leftmost, then longest, with the white space that a token takes along. One rule is ours: a special token of which any
 * character came from the client is ordinary text. Other added tokens, as {@code <think>}, count wherever they stand.
 */
final class AddedTokenFinder {
    /** A token found at {@code [start, end)}, in UTF-16 units. */
    record Match(AddedToken token, int start, int end) {}

    /** Longest first. */
    private final List<AddedToken> tokens;
    private final BitSet firstChars = new BitSet();

    AddedTokenFinder(List<AddedToken> added) {
        tokens = added.stream().filter(token -> !token.content().isEmpty())
                .sorted(Comparator.comparingInt((AddedToken token) -> -token.content().length())).toList();
        tokens.forEach(token -> firstChars.set(token.content().charAt(0)));
    }

    /**
     * The next token at or after {@code from}, or null.
     * @param refusedIds receives the special tokens that the client spelled before that place
     */
    @Nullable Match next(RenderedPrompt prompt, int from, BitSet refusedIds) {
        String text = prompt.text();
        for (int at = from; at < text.length(); at++) {
            if (!firstChars.get(text.charAt(at))) {
                continue;
            }
            for (AddedToken token : tokens) {
                if (!text.startsWith(token.content(), at) || token.singleWord() && insideWord(text, token, at)) {
                    continue;
                }
                if (token.special() && prompt.isFromClient(at, at + token.content().length())) {
                    refusedIds.set(token.id());
                    continue;
                }
                return widened(token, text, at, from);
            }
        }
        return null;
    }

    private static Match widened(AddedToken token, String text, int at, int from) {
        int start = at;
        int end = at + token.content().length();
        while (token.lstrip() && start > from && isSpace(text.charAt(start - 1))) {
            start--;
        }
        while (token.rstrip() && end < text.length() && isSpace(text.charAt(end))) {
            end++;
        }
        return new Match(token, start, end);
    }

    private static boolean insideWord(String text, AddedToken token, int at) {
        int end = at + token.content().length();
        return at > 0 && isWord(text.charAt(at - 1)) || end < text.length() && isWord(text.charAt(end));
    }

    private static boolean isWord(char c) {
        return Character.isLetterOrDigit(c) || c == '_';
    }

    private static boolean isSpace(char c) {
        return Character.isWhitespace(c) || Character.isSpaceChar(c) || c == 0x85;
    }
}
