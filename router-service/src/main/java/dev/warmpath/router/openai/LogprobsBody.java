package dev.warmpath.router.openai;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import dev.warmpath.router.answer.TokenScore;
import dev.warmpath.router.answer.TokenScore.Likely;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Log-probabilities in the words of the endpoints: OpenAI's two, and vLLM's of a prompt. */
final class LogprobsBody {

    private LogprobsBody() {}

    /** Of a chat. */
    record Chat(List<ChatToken> content, @JsonInclude @Nullable Object refusal) {}

    /** @param bytes of its UTF-8: of a part of a character the text tells less */
    record ChatToken(String token, float logprob, int[] bytes, @JsonProperty("top_logprobs") List<ChatAlternative> top) {}

    record ChatAlternative(String token, float logprob, int[] bytes) {}

    /** Of a text: lists that go together. */
    @JsonInclude(JsonInclude.Include.ALWAYS)
    record Text(
            @JsonProperty("text_offset") List<Integer> offsets,
            @JsonProperty("token_logprobs") List<@Nullable Float> logprobs,
            List<String> tokens,
            @JsonProperty("top_logprobs") List<@Nullable Map<String, Float>> top) {}

    /** Of a prompt's token in vLLM's words, by its id. */
    record PromptToken(float logprob, int rank, @JsonProperty("decoded_token") String text) {}

    /**
     * @param most alternatives beside each; {@link AnswerFormat.Shown#NONE}: nothing is shown
     * @return null if nothing is shown
     */
    static @Nullable Chat chat(List<TokenScore> scores, int most) {
        return most < 0 ? null : new Chat(scores.stream().map(score -> chatToken(score, most)).toList(), null);
    }

    private static ChatToken chatToken(TokenScore score, int most) {
        List<ChatAlternative> top = first(score.likeliest(), most).stream().map(likely -> new ChatAlternative(
                lossyText(likely.bytes()), likely.logprob(), unsigned(likely.bytes()))).toList();
        return new ChatToken(lossyText(score.bytes()), score.logprob(), unsigned(score.bytes()), top);
    }

    /** Likewise. */
    static @Nullable Text text(List<TokenScore> scores, int most) {
        if (most < 0) {
            return null;
        }
        var offsets = new ArrayList<Integer>();
        var logprobs = new ArrayList<@Nullable Float>();
        var tokens = new ArrayList<String>();
        var top = new ArrayList<@Nullable Map<String, Float>>();
        for (TokenScore score : scores) {
            boolean isKnown = !Float.isNaN(score.logprob());
            offsets.add(score.offset());
            logprobs.add(isKnown ? score.logprob() : null);
            tokens.add(exactText(score.bytes()));
            top.add(isKnown ? alternatives(score, most) : null);
        }
        return new Text(offsets, logprobs, tokens, top);
    }

    /** The token itself is among them, whether it is one of the likeliest or not. */
    private static Map<String, Float> alternatives(TokenScore score, int most) {
        var byText = new LinkedHashMap<String, Float>();
        for (Likely likely : first(score.likeliest(), most)) {
            byText.putIfAbsent(exactText(likely.bytes()), likely.logprob());
        }
        byText.putIfAbsent(exactText(score.bytes()), score.logprob());
        return byText;
    }

    /** Null for the first token, of each other one itself and the likeliest by their ids. */
    static @Nullable List<@Nullable Map<String, PromptToken>> prompt(List<TokenScore> scores, int most) {
        if (most < 0) {
            return null;
        }
        var all = new ArrayList<@Nullable Map<String, PromptToken>>();
        all.add(null);
        for (TokenScore score : scores.subList(Math.min(1, scores.size()), scores.size())) {
            var byId = new LinkedHashMap<String, PromptToken>();
            byId.put(Integer.toString(score.id()),
                    new PromptToken(score.logprob(), score.rank(), lossyText(score.bytes())));
            int rank = 0;
            for (Likely likely : first(score.likeliest(), most)) {
                rank++;
                byId.putIfAbsent(Integer.toString(likely.id()),
                        new PromptToken(likely.logprob(), rank, lossyText(likely.bytes())));
            }
            all.add(byId);
        }
        return all;
    }

    private static List<Likely> first(List<Likely> likeliest, int most) {
        return likeliest.subList(0, Math.min(most, likeliest.size()));
    }

    private static String lossyText(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** Of a part of a character OpenAI's {@code bytes:\\xe2\\x80}: a text of its own for each. */
    private static String exactText(byte[] bytes) {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException _) {
            var text = new StringBuilder("bytes:");
            for (byte each : bytes) {
                text.append("\\x").append(String.format("%02x", each));
            }
            return text.toString();
        }
    }

    private static int[] unsigned(byte[] bytes) {
        var values = new int[bytes.length];
        for (int i = 0; i < bytes.length; i++) {
            values[i] = Byte.toUnsignedInt(bytes[i]);
        }
        return values;
    }
}
