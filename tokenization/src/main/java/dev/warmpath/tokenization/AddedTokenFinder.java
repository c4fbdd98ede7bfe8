package dev.warmpath.tokenization;

import dev.warmpath.tokenization.template.RenderedPrompt;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Finds added tokens in a prompt the way the Hugging Face library does (tokenizers 0.21, {@code added_vocabulary.rs}):
 * leftmost, then longest, with the white space that a token takes along; a token that counts only as a single word, and
 * is none where it is found, is passed over as a whole. One rule is ours: a {@link AddedToken#marker} of which any
 * character came from the client is ordinary text. Other added tokens count wherever they stand.
 *
 * <p>A text is read once, from its end to its beginning, by one automaton of all tokens spelled backwards (Aho and
 * Corasick, 1975): its state after a character tells the longest token that begins there, whatever their number, and
 * {@code shorter} the others. Linear in the text; about 50 bytes for each character of all tokens.
 */
final class AddedTokenFinder {
    /** A token found at {@code [start, end)}, in UTF-16 units. */
    record Match(AddedToken token, int start, int end) {}

    private static final int ROOT = 0;
    private static final int FEW_ENDINGS = 3;
    private static final int STRETCH = 128;

    /** By node, the token that is spelled there; null within one. */
    private final List<@Nullable AddedToken> tokens = new ArrayList<>();
    /** By node: the node of the longest token that ends the way to here, maybe this one; {@link #ROOT} for none. */
    private final int[] longest;
    /** By node: the longest other node that ends the way to here. */
    private final int[] suffix;
    /** Characters that tokens end with: others lead from the root to the root. */
    private final boolean[] endings = new boolean[Character.MAX_VALUE + 1];
    /** The same as a list, where they are so few that looking for each in a stretch of text is fast: often only '>'. */
    private final @Nullable String fewEndings;
    /** Open addressing, node and character → the next node. 0 in {@code targets} is a free place. */
    private long[] keys = new long[64];
    private int[] targets = new int[64];

    AddedTokenFinder(List<AddedToken> added) {
        tokens.add(null);
        var parents = new ArrayList<Integer>(List.of(ROOT));
        var letters = new StringBuilder("\0");
        var depths = new ArrayList<Integer>(List.of(0));
        for (AddedToken token : added) {
            String content = token.content();
            int node = ROOT;
            if (!content.isEmpty()) {
                endings[content.charAt(content.length() - 1)] = true;
            }
            for (int i = content.length() - 1; i >= 0; i--) {
                int next = child(node, content.charAt(i));
                if (next == ROOT) {
                    next = tokens.size();
                    put(node, content.charAt(i), next);
                    tokens.add(null);
                    parents.add(node);
                    letters.append(content.charAt(i));
                    depths.add(depths.get(node) + 1);
                }
                node = next;
            }
            if (node != ROOT && tokens.get(node) == null) {
                tokens.set(node, token);
            }
        }
        fewEndings = fewOf(endings);
        suffix = new int[tokens.size()];
        longest = new int[tokens.size()];
        var shallowFirst = new ArrayList<Integer>();
        for (int node = 1; node < tokens.size(); node++) {
            shallowFirst.add(node);
        }
        shallowFirst.sort(Comparator.comparing(depths::get));
        for (int node : shallowFirst) {
            int parent = parents.get(node);
            suffix[node] = parent == ROOT ? ROOT : step(suffix[parent], letters.charAt(node));
            longest[node] = tokens.get(node) != null ? node : longest[suffix[node]];
        }
    }

    private static @Nullable String fewOf(boolean[] endings) {
        var few = new StringBuilder();
        for (int letter = 0; letter < endings.length; letter++) {
            if (endings[letter]) {
                few.append((char) letter);
            }
        }
        return few.length() <= FEW_ENDINGS ? few.toString() : null;
    }

    /** The last place before {@code end} where a token may end, or -1. */
    private int lastEnding(String text, int end) {
        int before = fewEndings == null ? end : endWithEnding(text, end, fewEndings);
        while (before > 0 && !endings[text.charAt(before - 1)]) {
            before--;
        }
        return before - 1;
    }

    /** Passes over stretches without any: the JDK looks at many characters at a time. */
    private static int endWithEnding(String text, int end, String few) {
        for (int to = end; to > 0; to = Math.max(0, to - STRETCH)) {
            for (int i = 0; i < few.length(); i++) {
                if (text.indexOf(few.charAt(i), Math.max(0, to - STRETCH), to) >= 0) {
                    return to;
                }
            }
        }
        return 0;
    }

    /** The tokens in one prompt. */
    Search search(RenderedPrompt prompt) {
        return new Search(prompt);
    }

    /** Goes through one prompt from its beginning to its end. One thread. */
    final class Search {
        private final RenderedPrompt prompt;
        /** Where tokens begin, and the node of the longest; the last place first. */
        private int[] places = new int[16];
        private int[] nodes = new int[16];
        private int left;

        private Search(RenderedPrompt prompt) {
            this.prompt = prompt;
            String text = prompt.text();
            int state = ROOT;
            for (int at = lastEnding(text, text.length()); at >= 0; at = state == ROOT ? lastEnding(text, at) : at - 1) {
                state = step(state, text.charAt(at));
                if (longest[state] != ROOT) {
                    add(at, longest[state]);
                }
            }
        }

        private void add(int at, int node) {
            if (left == places.length) {
                places = Arrays.copyOf(places, 2 * left);
                nodes = Arrays.copyOf(nodes, 2 * left);
            }
            places[left] = at;
            nodes[left++] = node;
        }

        /**
         * The next token at or after {@code from}, which is not before that of an earlier call, or null.
         * @param refusedIds receives the markers that the client spelled before that place
         */
        @Nullable Match next(int from, BitSet refusedIds) {
            String text = prompt.text();
            int open = from;
            while (left > 0) {
                int at = places[--left];
                if (at < open) {
                    continue;
                }
                for (int node = nodes[left]; node != ROOT; node = longest[suffix[node]]) {
                    AddedToken token = tokenAt(node);
                    int end = at + token.content().length();
                    if (token.marker() && prompt.isFromClient(at, end)) {
                        refusedIds.set(token.id());
                        continue;
                    }
                    if (token.singleWord() && insideWord(text, at, end)) {
                        open = end;
                        break;
                    }
                    return widened(token, text, at, from);
                }
            }
            return null;
        }
    }

    private AddedToken tokenAt(int node) {
        AddedToken token = tokens.get(node);
        if (token == null) {
            throw new IllegalStateException("node " + node + " spells no token");
        }
        return token;
    }

    private int step(int node, char letter) {
        int from = node;
        while (true) {
            int next = child(from, letter);
            if (next != ROOT || from == ROOT) {
                return next;
            }
            from = suffix[from];
        }
    }

    private int child(int node, char letter) {
        long key = key(node, letter);
        for (int i = place(key); targets[i] != 0; i = i + 1 & targets.length - 1) {
            if (keys[i] == key) {
                return targets[i];
            }
        }
        return ROOT;
    }

    private void put(int node, char letter, int target) {
        if (2 * target >= targets.length) {
            long[] oldKeys = keys;
            int[] oldTargets = targets;
            keys = new long[2 * oldKeys.length];
            targets = new int[2 * oldKeys.length];
            for (int i = 0; i < oldTargets.length; i++) {
                if (oldTargets[i] != 0) {
                    insert(oldKeys[i], oldTargets[i]);
                }
            }
        }
        insert(key(node, letter), target);
    }

    private void insert(long key, int target) {
        int i = place(key);
        while (targets[i] != 0) {
            i = i + 1 & targets.length - 1;
        }
        keys[i] = key;
        targets[i] = target;
    }

    private static long key(int node, char letter) {
        return (long) node << 16 | letter;
    }

    private int place(long key) {
        return (int) (key * 0x9E3779B97F4A7C15L >>> 40) & targets.length - 1;
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

    private static boolean insideWord(String text, int start, int end) {
        return start > 0 && isWord(text.charAt(start - 1)) || end < text.length() && isWord(text.charAt(end));
    }

    private static boolean isWord(char c) {
        return Character.isLetterOrDigit(c) || c == '_';
    }

    /** White_Space of Unicode; to the JDK, U+001C to U+001F are white space too. */
    private static boolean isSpace(char c) {
        return c >= '\t' && c <= '\r' || c == 0x85 || Character.isSpaceChar(c);
    }
}
