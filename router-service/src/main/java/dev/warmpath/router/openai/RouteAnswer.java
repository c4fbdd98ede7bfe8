package dev.warmpath.router.openai;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import dev.warmpath.router.completion.RouteExplanation;
import dev.warmpath.router.decisions.CandidateView;
import dev.warmpath.router.decisions.LeftOutView;
import dev.warmpath.router.decisions.Millis;
import dev.warmpath.router.decisions.ShadowView;
import dev.warmpath.router.routing.RouteDecision.NoWorker;
import dev.warmpath.router.routing.RouteDecision.Routed;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The answer of {@code POST /v1/route}: what would be chosen for the request now, and what every candidate would cost.
 *
 * @param worker                id of the chosen one; null if none is there
 * @param policy                which would decide; null if none is there to choose from
 * @param reason                why that one, or why none
 * @param promptTokens          length of the prompt
 * @param promptBlocks          full blocks of it
 * @param promptHash            hash of the last of these, 64 hex digits, or null: the actuator endpoint
 *                              {@code prefixindex} tells who holds it
 * @param blockSize             tokens per block
 * @param matchedBlocks         leading blocks that the chosen worker has in its cache
 * @param predictedCachedTokens the same in tokens: what {@code usage} should tell afterwards
 * @param predictedFirstTokenMs how long the first token should take there, once the request is sent; null while the
 *                              chosen worker's pace is not known
 * @param indexGrade            exact, assumed, history or load: how far the index can be relied on for the worst of
 *                              the candidates; null without any
 * @param candidates            all that could be chosen
 * @param leftOut               all others of the revision, and why they could not be
 * @param shadow                what another policy would do; null if none is asked
 */
@JsonInclude(JsonInclude.Include.ALWAYS)
record RouteAnswer(
        String model,
        String revision,
        @Nullable String worker,
        @Nullable String policy,
        String reason,
        @JsonProperty("prompt_tokens") int promptTokens,
        @JsonProperty("prompt_blocks") int promptBlocks,
        @JsonProperty("prompt_hash") @Nullable String promptHash,
        @JsonProperty("block_size") int blockSize,
        @JsonProperty("matched_blocks") int matchedBlocks,
        @JsonProperty("predicted_cached_tokens") int predictedCachedTokens,
        @JsonProperty("predicted_first_token_ms") @Nullable Double predictedFirstTokenMs,
        @JsonProperty("index_grade") @Nullable String indexGrade,
        List<CandidateView> candidates,
        @JsonProperty("left_out") List<LeftOutView> leftOut,
        @Nullable ShadowView shadow) {

    static RouteAnswer of(RouteExplanation explanation) {
        var prompt = explanation.prompt();
        return switch (explanation.decision()) {
            case Routed routed -> new RouteAnswer(prompt.model().name(), prompt.model().revision(), routed.workerId(),
                    routed.policy().text(), routed.reason().text(), prompt.length(), prompt.chain().blockCount(),
                    prompt.hash(), prompt.blockSize(), routed.matchedBlocks(), routed.cachedTokens(),
                    Millis.orNull(routed.predictedFirstTokenNanos()), routed.snapshot().indexGrade().text(),
                    routed.snapshot().candidates().stream().map(CandidateView::of).toList(),
                    LeftOutView.of(routed.snapshot().leftOut()), ShadowView.of(routed));
            case NoWorker none -> new RouteAnswer(prompt.model().name(), prompt.model().revision(), null, null,
                    "no_worker", prompt.length(), prompt.chain().blockCount(), prompt.hash(), prompt.blockSize(), 0, 0,
                    null, null, List.of(), LeftOutView.of(none.leftOut()), null);
        };
    }
}
