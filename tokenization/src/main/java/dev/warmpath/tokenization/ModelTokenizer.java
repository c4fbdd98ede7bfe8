package dev.warmpath.tokenization;

import dev.warmpath.tokenization.bpe.TextStream;
import dev.warmpath.tokenization.bpe.TokenDecoder;
import dev.warmpath.tokenization.bpe.TokenIds;
import dev.warmpath.tokenization.template.ChatMessage;
import dev.warmpath.tokenization.template.ChatTemplate;
import dev.warmpath.tokenization.template.RenderedPrompt;
import dev.warmpath.tokenization.template.TemplateException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The tokenizer and chat template of one model revision. Safe for concurrent use.
 *
 * <p>A prompt is cut at its added tokens (role markers and the like); the text between two of them is a segment, and
 * tokenized on its own, as the Hugging Face library does inside. We do the cutting because the library cannot tell a
 * marker that the template wrote from one typed into a message: {@link RenderedPrompt} can, and the typed one becomes
 * ordinary tokens. For every other text the ids are those of the library, whoever encodes the segments.
 */
public final class ModelTokenizer {
    /** {@link #contextLength} of a model whose files name none. */
    public static final int UNBOUNDED = Integer.MAX_VALUE;

    private static final int PIECE_CHARS = 16 << 10;
    /** A token that is cut in two may become many; so many do not. */
    private static final int MOST_AT_A_CUT = 64;

    private final NativeTokenizer whole;
    private final SegmentEncoder segments;
    private final @Nullable TokenDecoder decoder;
    private final AddedTokenFinder addedTokens;
    private final BitSet specialIds = new BitSet();
    private final Map<Integer, AddedToken> addedById;
    private final Map<String, Integer> idsOfSpecials;
    /** What the post-processor puts before and after a text. */
    private final int[] prefix;
    private final int[] suffix;
    private final int vocabularySize;
    private final int maxTokenBytes;
    private final @Nullable String bosToken;
    private final @Nullable String eosToken;
    private final List<Integer> eosIds;
    private final SamplingDefaults samplingDefaults;
    private final int contextLength;
    private final ChatTemplates chatTemplates;

    /** How the text between two added tokens becomes ids; a prompt may begin with it. */
    interface Segments {
        /** @return false, and nothing added, if it does not */
        boolean encode(String segment, boolean first, TokenIds ids);
    }

    /** One that remembers no text, otherwise the same. */
    public ModelTokenizer(ModelFiles files) {
        this(files, new SegmentCache(0));
    }

    /**
     * @param cache for long segments, shared with other models
     * @throws TokenizationException INVALID_MODEL_FILE or LIBRARY_UNAVAILABLE
     */
    public ModelTokenizer(ModelFiles files, SegmentCache cache) {
        var config = new TokenizerSettings(files);
        chatTemplates = new ChatTemplates(config.chatTemplates());
        var json = new TokenizerJson(files.tokenizer(), chatTemplates::written);
        List<AddedToken> added = json.addedTokens();
        whole = new NativeTokenizer(json.whole());
        addedTokens = new AddedTokenFinder(added.stream().filter(token -> !json.isLeftToLibrary(token)).toList());
        idsOfSpecials = added.stream().filter(AddedToken::special)
                .collect(Collectors.toMap(AddedToken::content, AddedToken::id, (first, _) -> first));
        idsOfSpecials.values().forEach(specialIds::set);
        addedById = added.stream().collect(Collectors.toMap(AddedToken::id, token -> token, (first, _) -> first));
        vocabularySize = json.vocabularySize();
        maxTokenBytes = json.maxTokenBytes();
        var proof = new EncoderProof(whole);
        segments = proof.agreeing(SegmentEncoder.of(json,
                        () -> new TokenizerJson(files.tokenizer(), chatTemplates::written), cache), added,
                (tried, text) -> Objects.requireNonNull(encode(RenderedPrompt.trusted(text), tried::encode)),
                () -> SegmentEncoder.ofLibrary(json, cache));
        decoder = proof.agreeing(json.decoder(), vocabularySize);

        int[] bare = whole.encode("a", false);
        int[] surrounded = whole.encode("a", true);
        int prefixLength = indexOf(surrounded, bare);
        prefix = Arrays.copyOf(surrounded, prefixLength);
        suffix = Arrays.copyOfRange(surrounded, prefixLength + bare.length, surrounded.length);

        bosToken = config.token("bos_token");
        eosToken = config.token("eos_token");
        eosIds = config.eosIds(added);
        samplingDefaults = config.samplingDefaults();
        contextLength = config.contextLength();
    }

    private static int indexOf(int[] ids, int[] part) {
        for (int i = 0; i + part.length <= ids.length; i++) {
            if (Arrays.equals(ids, i, i + part.length, part, 0, part.length)) {
                return i;
            }
        }
        throw TokenizerJson.invalid("the post-processor of tokenizer.json changes the text itself");
    }

    /**
     * The ids of a raw text, as of {@code /v1/completions}: role markers in it count, the caller writes the prompt.
     * @param addSpecialTokens put around it what the model expects, as a begin token, unless it begins with that one
     */
    public int[] encode(String text, boolean addSpecialTokens) {
        int[] ids = encode(RenderedPrompt.trusted(text));
        return addSpecialTokens ? surrounded(ids) : ids;
    }

    private int[] surrounded(int[] ids) {
        boolean begun = prefix.length > 0 && ids.length > 0 && ids[0] == prefix[0];
        var all = new TokenIds();
        all.addAll(begun ? new int[0] : prefix);
        all.addAll(ids);
        all.addAll(suffix);
        return all.toArray();
    }

    /**
     * The ids of a rendered conversation; the template has written the begin token, if the model wants one. Markers
     * spelled by the client become ordinary tokens.
     * @throws TokenizationException MARKER_IN_CONTENT if the vocabulary cannot write such a text in another way
     */
    public int[] encode(RenderedPrompt prompt) {
        return Objects.requireNonNull(encode(prompt, segments::encodeOnce));
    }

    /** As {@link #encode(String, boolean)}, or null where that would need the library: it may take many times as long. */
    public int @Nullable [] encodeAlone(String text, boolean addSpecialTokens) {
        int @Nullable [] ids = encodeAlone(RenderedPrompt.trusted(text));
        return ids != null && addSpecialTokens ? surrounded(ids) : ids;
    }

    /** As {@link #encode(RenderedPrompt)}, or null likewise. */
    public int @Nullable [] encodeAlone(RenderedPrompt prompt) {
        return encode(prompt, segments::encodeOnceAlone);
    }

    /**
     * The ids of a text that goes on with another one, and has no markers: what looks like one becomes ordinary tokens.
     * @throws TokenizationException MARKER_IN_CONTENT likewise
     */
    int[] encodeBehind(String text) {
        return Objects.requireNonNull(encode(RenderedPrompt.fromClient(text),
                (segment, _, ids) -> segments.encode(segment, /* first */ false, ids)));
    }

    /** The markers in a text in which all count, one behind the other. */
    int[] markersIn(String text) {
        AddedTokenFinder.Search search = addedTokens.search(RenderedPrompt.trusted(text));
        var ids = new TokenIds();
        var none = new BitSet();
        AddedTokenFinder.@Nullable Match match = search.next(0, none);
        while (match != null) {
            if (match.token().marker()) {
                ids.add(match.token().id());
            }
            match = search.next(match.end(), none);
        }
        return ids.toArray();
    }

    private int @Nullable [] encode(RenderedPrompt prompt, Segments encoder) {
        String text = prompt.text();
        AddedTokenFinder.Search search = addedTokens.search(prompt);
        var ids = new TokenIds();
        var refusedIds = new BitSet();
        int at = 0;
        while (at < text.length()) {
            AddedTokenFinder.@Nullable Match match = search.next(at, refusedIds);
            int end = match == null ? text.length() : match.start();
            if (at < end) {
                int before = ids.count();
                if (!encoder.encode(text.substring(at, end), at == 0, ids)) {
                    return null;
                }
                checkNoMarkers(ids, before, refusedIds);
            }
            if (match != null) {
                ids.add(match.token().id());
            }
            refusedIds.clear();
            at = match == null ? end : match.end();
        }
        return ids.toArray();
    }

    /** Whether prompts are encoded by our own encoder, apart from texts that it leaves to the library. */
    public boolean hasOwnEncoder() {
        return segments.isOwn();
    }

    /** A number of tokens that the text has at least; takes no time. 1 where the vocabulary tells nothing. */
    public int leastTokens(String text) {
        return Math.ceilDiv(text.length(), maxTokenBytes);         // a UTF-16 unit is a byte or more
    }

    /**
     * Whether a text has more tokens than that, by pieces of it and in their memory: an encoding takes some hundred
     * bytes a token while it is made. May say no to a text that has a few percent more: at a cut, tokens fall apart.
     */
    public boolean hasMoreTokensThan(String text, int most) {
        long tokens = 0;
        int end;
        for (int at = 0; at < text.length(); at = end) {
            end = Math.min(at + PIECE_CHARS, text.length());
            if (end < text.length() && Character.isHighSurrogate(text.charAt(end - 1))) {
                end--;
            }
            var piece = RenderedPrompt.trusted(text.substring(at, end));
            tokens += Objects.requireNonNull(encode(piece, segments::encode)).length - MOST_AT_A_CUT;
            if (tokens > most) {
                return true;
            }
        }
        return false;
    }

    /** Most bytes of a text's UTF-8 that one token can stand for, or {@link #UNBOUNDED}. */
    public int maxTokenBytes() {
        return maxTokenBytes;
    }

    /** A vocabulary that is no byte-level BPE may hold a marker as an ordinary piece too. */
    private void checkNoMarkers(TokenIds ids, int from, BitSet refusedIds) {
        for (int i = refusedIds.isEmpty() ? ids.count() : from; i < ids.count(); i++) {
            if (refusedIds.get(ids.get(i))) {
                throw new TokenizationException(TokenizationException.Kind.MARKER_IN_CONTENT,
                        "a message contains the model's marker '" + decode(new int[] {ids.get(i)}, false) + "'", null);
            }
        }
    }

    /**
     * Renders a conversation with the model's chat template: the one for tools, where it has one and the variables have
     * {@code tools}.
     *
     * @throws TokenizationException NO_CHAT_TEMPLATE
     * @throws TemplateException     SYNTAX or UNSUPPORTED if the template cannot be read, else as of
     *                               {@link ChatTemplate#render}
     */
    public RenderedPrompt render(List<ChatMessage> messages, boolean addGenerationPrompt, Map<String, ?> variables) {
        return chatTemplates.render(messages, addGenerationPrompt, bosToken, eosToken, variables);
    }

    /** The text of these ids without special tokens; ids outside the vocabulary give none. */
    public String decode(int[] ids) {
        return decode(ids, true);
    }

    public String decode(int[] ids, boolean skipSpecialTokens) {
        return decode(ids, 0, ids.length, skipSpecialTokens);
    }

    /** Of {@code ids[from, to)}. */
    String decode(int[] ids, int from, int to) {
        return decode(ids, from, to, true);
    }

    private String decode(int[] ids, int from, int to, boolean skipSpecialTokens) {
        return decoder != null ? decoder.decode(ids, from, to, skipSpecialTokens)
                : whole.decode(ids, from, to, skipSpecialTokens);
    }

    /**
     * What a token stands for within a text, in UTF-8: maybe a part of a character only. A special one has its spelling,
     * an id outside the vocabulary nothing. Whole characters only where the library decodes. Not to be written to.
     */
    public byte[] bytesOf(int id) {
        return decoder != null ? decoder.bytes(id)
                : decode(new int[] {id}, /* skipSpecialTokens */ false).getBytes(StandardCharsets.UTF_8);
    }

    /** For one text that comes token by token. @param continues it goes on with another, if our own decoder is at work */
    TextStream textStream(boolean continues) {
        return decoder != null ? decoder.stream(continues) : new WindowStream(this);
    }

    /** Whether {@code decode} leaves it out. */
    public boolean isSpecial(int id) {
        return id >= 0 && specialIds.get(id);
    }

    /** Null if it is none. */
    @Nullable AddedToken addedToken(int id) {
        return addedById.get(id);
    }

    /** What is put before a text, as a begin token. Not to be written to. */
    int[] prefix() {
        return prefix;
    }

    /** The id of the special token that is spelled like this; null if there is none. */
    @Nullable Integer specialId(String content) {
        return idsOfSpecials.get(content);
    }

    /** One past the largest id; the model's own table may be padded further. */
    public int vocabularySize() {
        return vocabularySize;
    }

    /** Ids that end a text: of generation_config.json, else config.json, else the id of {@link #eosToken}. */
    public List<Integer> eosIds() {
        return eosIds;
    }

    /** How tokens are drawn for clients who do not say. */
    public SamplingDefaults samplingDefaults() {
        return samplingDefaults;
    }

    /** Most tokens of prompt and answer together, or {@link #UNBOUNDED}. */
    public int contextLength() {
        return contextLength;
    }

    /** Why chat templates cannot be read, by name; those that can are not among them. */
    Map<String, String> chatTemplateFaults() {
        return chatTemplates.faults();
    }

    /** The chat templates as the model's files have them, one behind the other; null if there is none. */
    public @Nullable String chatTemplate() {
        return chatTemplates.source();
    }

    public @Nullable String bosToken() {
        return bosToken;
    }

    public @Nullable String eosToken() {
        return eosToken;
    }
}
