package dev.warmpath.tokenization;

import dev.warmpath.tokenization.bpe.TokenIds;
import dev.warmpath.tokenization.bpe.Utf8;
import dev.warmpath.tokenization.template.RenderedPrompt;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Ids as text for a server that takes nothing else, and its text as ids again, with nothing lost on either way. Safe
 * for concurrent use.
 *
 * <p>Both ways are tried out, not derived: a text is proposed and read again, ids are proposed and decoded again. So no
 * rule about spaces at a beginning, about normalization or about missing words needs to be known here.
 */
public final class Spelling {

    private static final int NO_ID = -1;
    private static final int BYTES = 256;
    /** No vocabulary joins it with what comes behind it, if that is no white space. */
    private static final String BREAK = "\n";

    /** Which of the stretches between added tokens are decoded as if a text began there. */
    private enum Begins { FIRST, EACH, NONE }

    private final ModelTokenizer tokenizer;
    /** What a text goes on from: decoders treat a beginning apart. */
    private final int[] before;
    private final String textBefore;
    private final int[] breakIds;
    /** By byte, the token that stands for it alone, or {@link #NO_ID}. */
    private final int[] idsOfBytes = new int[BYTES];

    public Spelling(ModelTokenizer tokenizer) {
        this.tokenizer = tokenizer;
        before = tokenizer.encodeBehind("a");
        textBefore = tokenizer.decode(before);
        breakIds = tokenizer.encodeBehind(BREAK);
        Arrays.fill(idsOfBytes, NO_ID);
        for (int id = 0; id < tokenizer.vocabularySize(); id++) {
            byte[] bytes = tokenizer.addedToken(id) != null ? new byte[0] : tokenizer.bytesOf(id);
            if (bytes.length == 1) {
                idsOfBytes[Byte.toUnsignedInt(bytes[0])] = id;
            }
        }
    }

    /** Tokens that the model's tokenizer puts before each text, as a begin token: who takes text may do so, too. */
    public int beginTokens() {
        return tokenizer.prefix().length;
    }

    /** Whether a prompt begins with these. */
    public boolean isBegun(int[] ids) {
        int[] prefix = tokenizer.prefix();
        return ids.length >= prefix.length && Arrays.equals(prefix, Arrays.copyOf(ids, prefix.length));
    }

    /** As many tokens has a text in which the model's markers count, with nothing put before it. */
    public int countOf(String text) {
        return tokenizer.encode(text, /* addSpecialTokens */ false).length;
    }

    /** Whether a text may end with this token, as the model's files have it: whoever serves the model knows so, too. */
    public boolean isEnd(int id) {
        return tokenizer.eosIds().contains(id);
    }

    /** The model's markers that end a text, or nothing: only who knows markers reads one as such. */
    public String endMarkers() {
        var text = new StringBuilder();
        for (int id : tokenizer.eosIds()) {
            text.append(isMarker(id) ? Objects.requireNonNull(tokenizer.addedToken(id)).content() : "");
        }
        return text.toString();
    }

    /**
     * The text of a prompt, markers spelled out.
     *
     * @param begun what {@link #beginTokens} counts is put before it by whoever takes it, and left out here
     * @return one that is read as these ids, if there is one; else, of ids that no tokenizer makes of a text, what they
     *         say. Null where that would change what the prompt means: where a message spells a marker as ordinary
     *         text, which a text cannot tell from the marker itself, and where ids are parts of characters
     */
    public @Nullable String ofPrompt(int[] ids, boolean begun) {
        int[] rest = begun && isBegun(ids) ? Arrays.copyOfRange(ids, beginTokens(), ids.length) : ids;
        if (Arrays.stream(rest).anyMatch(id -> id < 0 || id >= tokenizer.vocabularySize())) {
            return null;
        }
        String text = ofPrompt(rest);
        boolean isBroken = text.indexOf('\uFFFD') >= 0 && !isReadAs(text, rest);
        return isBroken || !Arrays.equals(tokenizer.markersIn(text), markersAmong(rest)) ? null : text;
    }

    /**
     * Some tokenizers put a space before a text, or before each stretch of it, and a server that reads as they do adds
     * it again; some only leave one out when they decode.
     */
    private String ofPrompt(int[] ids) {
        String usual = text(ids, Begins.FIRST);
        String each = text(ids, Begins.EACH);
        String none = text(ids, Begins.NONE);
        if (usual.equals(each) && usual.equals(none) || isReadAs(usual, ids)) {
            return usual;                                        // the bytes of byte-level tokens are the text
        }
        return isReadAs(each, ids) ? each : isReadAs(none, ids) ? none : usual;
    }

    private boolean isReadAs(String text, int[] ids) {
        return Arrays.equals(tokenizer.encode(text, /* addSpecialTokens */ false), ids);
    }

    private int[] markersAmong(int[] ids) {
        return Arrays.stream(ids).filter(this::isMarker).toArray();
    }

    private boolean isMarker(int id) {
        AddedToken added = tokenizer.addedToken(id);
        return added != null && added.marker();
    }

    private String text(int[] ids, Begins begins) {
        var text = new StringBuilder();
        int at = 0;
        while (at < ids.length) {
            AddedToken added = tokenizer.addedToken(ids[at]);
            if (added != null) {
                text.append(added.content());
                at++;
                continue;
            }
            int end = at;
            while (end < ids.length && tokenizer.addedToken(ids[end]) == null) {
                end++;
            }
            boolean isText = begins == Begins.EACH || begins == Begins.FIRST && at == 0;
            text.append(isText ? tokenizer.decode(ids, at, end) : behind(Arrays.copyOfRange(ids, at, end)));
            at = end;
        }
        return text.toString();
    }

    /** The text of ids that go on with another one. */
    private String behind(int[] ids) {
        int[] all = Arrays.copyOf(before, before.length + ids.length);
        System.arraycopy(ids, 0, all, before.length, ids.length);
        String text = tokenizer.decode(all);
        return text.startsWith(textBefore) ? text.substring(textBefore.length()) : text;
    }

    /**
     * Ordinary tokens for a text that goes on with another one; what looks like a marker in it is none. Decoded one
     * behind the other, those of several texts give these, each whole.
     *
     * @return null if the vocabulary has no way to write it: whoever wrote it has another one
     */
    public int @Nullable [] ofAnswer(String text) {
        String whole = Utf8.withoutLoneSurrogates(text);
        int @Nullable [] ids = proposed(whole);
        return ids != null ? ids : byCharacters(whole);
    }

    private int @Nullable [] proposed(String text) {
        int @Nullable [] plain = checked(text, text);
        if (plain != null) {
            return plain;
        }
        int @Nullable [] shorter = text.startsWith(" ") ? checked(text.substring(1), text) : null;
        return shorter != null ? shorter : behindBreak(text);
    }

    /** @return the first one's ids, if they are decoded to the second */
    private int @Nullable [] checked(String encoded, String wanted) {
        int @Nullable [] ids = encoded(encoded);
        return ids != null && behind(ids).equals(wanted) ? ids : null;
    }

    /** For tokenizers that put a space before any text: behind a line break it stands before that. */
    private int @Nullable [] behindBreak(String text) {
        int @Nullable [] ids = encoded(BREAK + text);
        if (ids == null || ids.length < breakIds.length
                || !Arrays.equals(breakIds, Arrays.copyOf(ids, breakIds.length))) {
            return null;
        }
        int[] rest = Arrays.copyOfRange(ids, breakIds.length, ids.length);
        return behind(rest).equals(text) ? rest : null;
    }

    private int @Nullable [] encoded(String text) {
        try {
            return tokenizer.encodeBehind(text);
        } catch (TokenizationException e) {
            return null;                                         // a marker, which this vocabulary has as a word, too
        }
    }

    private int @Nullable [] byCharacters(String text) {
        var ids = new TokenIds();
        for (int at = 0; at < text.length(); at = text.offsetByCodePoints(at, 1)) {
            String character = Character.toString(text.codePointAt(at));
            int @Nullable [] proposed = proposed(character);
            if (proposed != null) {
                ids.addAll(proposed);
            } else if (!addBytes(character, ids)) {
                return null;
            }
        }
        int[] all = ids.toArray();
        return behind(all).equals(text) ? all : null;
    }

    private boolean addBytes(String character, TokenIds ids) {
        for (byte b : character.getBytes(StandardCharsets.UTF_8)) {
            int id = idsOfBytes[Byte.toUnsignedInt(b)];
            if (id == NO_ID) {
                return false;
            }
            ids.add(id);
        }
        return true;
    }
}
