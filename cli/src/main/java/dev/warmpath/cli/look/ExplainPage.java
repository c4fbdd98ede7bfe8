package dev.warmpath.cli.look;

import dev.warmpath.cli.terminal.Screen;
import dev.warmpath.cli.terminal.Table;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.JsonNode;

/**
 * A decision as lines for people: the chosen worker, how much of the prompt's chain of blocks each candidate holds, and
 * what each would cost.
 */
final class ExplainPage {

    private static final int STRIP = 60;
    private static final int LEAST_STRIP = 10;
    private static final int BESIDE_STRIP = 32;
    private static final Map<String, String> REASONS = Map.of(
            "only_one", "no other worker could be",
            "prefix", "nobody holds more of the prompt",
            "load", "its queue is short enough to make up for what another one has cached, or nobody holds any of it",
            "turn", "several were as good, and it was its turn",
            "affinity", "the prompt's beginning, or its conversation, belongs there",
            "trial", "it was ejected, and this request tries out whether it has recovered",
            "no_worker", "no worker can be chosen now");

    private ExplainPage() {}

    static List<String> route(JsonNode route, Screen screen) {
        List<String> lines = new ArrayList<>();
        lines.add(prompt(route));
        if (route.path("worker").isNull()) {
            lines.add("nobody    " + reason(route));
        } else {
            lines.add("chosen    " + chosen(route));
            lines.add("expected  " + FleetPage.count(route.path("predicted_cached_tokens").asLong(0))
                    + " cached tokens there, first token " + (route.path("predicted_first_token_ms").isNumber()
                    ? "after " + FleetPage.duration(route.path("predicted_first_token_ms").asDouble())
                    : "unknown: its pace is not known yet"));
        }
        lines.addAll(candidates(route, screen));
        return lines;
    }

    static List<String> past(JsonNode answer, Screen screen) {
        List<String> lines = new ArrayList<>();
        for (JsonNode decision : answer.path("decisions")) {
            if (!lines.isEmpty()) {
                lines.add("");
            }
            lines.add("request   " + decision.path("request").asString("") + ", try "
                    + decision.path("attempt").asInt(0) + " at " + decision.path("at").asString(""));
            lines.add(prompt(decision));
            lines.add("chosen    " + chosen(decision));
            JsonNode outcome = decision.path("outcome");
            lines.add("outcome   " + (outcome.isNull() ? "the answer goes on" : outcome.path("end").asString("?")
                    + " after " + FleetPage.duration(outcome.path("total_ms").asDouble(0)) + ", "
                    + number(outcome.path("completion_tokens")) + " tokens"));
            var table = new Table().left("", 2).right("predicted", 1).right("actual", 1);
            table.row("cached tokens", number(decision.path("predicted_cached_tokens")),
                    number(outcome.path("cached_tokens")));
            table.row("first token", millis(decision.path("predicted_first_token_ms")),
                    millis(outcome.path("first_token_ms")));
            lines.add("");
            lines.addAll(table.lines(screen.width()));
            lines.addAll(candidates(decision, screen));
        }
        return lines;
    }

    private static String prompt(JsonNode decision) {
        int tokens = decision.path("prompt_tokens").asInt(0);
        int size = Math.max(1, decision.path("block_size").asInt(1));
        return "prompt    " + FleetPage.count(tokens) + " tokens of " + decision.path("model").asString("?") + ": "
                + FleetPage.count(tokens / size) + " blocks of " + size + " tokens, and " + tokens % size + " more";
    }

    private static String chosen(JsonNode decision) {
        return decision.path("worker").asString("?") + " by " + decision.path("policy").asString("?") + ": "
                + reason(decision);
    }

    private static String reason(JsonNode decision) {
        String reason = decision.path("reason").asString("?");
        return REASONS.containsKey(reason) ? reason + ", " + REASONS.get(reason) : reason;
    }

    private static List<String> candidates(JsonNode decision, Screen screen) {
        List<String> lines = new ArrayList<>();
        JsonNode candidates = decision.path("candidates");
        if (!candidates.isEmpty()) {
            lines.add("");
            lines.addAll(strips(decision, screen));
            lines.add("");
            lines.addAll(costs(candidates).lines(screen.width()));
        }
        int more = decision.path("candidate_count").asInt(candidates.size()) - candidates.size();
        if (more > 0) {
            lines.add("and " + more + " candidates that cost more");
        }
        decision.path("left_out").forEach(each -> lines.add("left out  " + each.path("worker").asString("?") + ": "
                + each.path("reason").asString("?")));
        JsonNode shadow = decision.path("shadow");
        if (shadow.isObject()) {
            lines.add("shadow    " + shadow.path("policy").asString("?") + " would choose "
                    + shadow.path("worker").asString("?") + ", with " + shadow.path("extra_tokens").asLong(0)
                    + " more tokens to compute");
        }
        return lines;
    }

    /** The prompt's blocks from left to right, and of each candidate those that it holds. */
    private static List<String> strips(JsonNode decision, Screen screen) {
        int blocks = decision.path("prompt_tokens").asInt(0) / Math.max(1, decision.path("block_size").asInt(1));
        if (blocks == 0) {
            return List.of("the prompt has no whole block: nothing of it can be cached");
        }
        int width = Math.clamp(screen.width() - BESIDE_STRIP, LEAST_STRIP, STRIP);
        int perCharacter = Math.ceilDiv(blocks, width);
        int characters = Math.ceilDiv(blocks, perCharacter);
        var table = new Table().left("prompt's blocks", 3).left(perCharacter == 1 ? "one a character"
                : perCharacter + " a character", 2).right("held", 1);
        for (JsonNode candidate : decision.path("candidates")) {
            int matched = candidate.path("matched_blocks").asInt(0);
            int promised = Math.max(matched, candidate.path("promised_blocks").asInt(0));
            table.row(candidate.path("worker").asString("?"),
                    strip(blocks, perCharacter, matched, promised, screen), matched + "/" + blocks);
        }
        return table.lines(Math.max(screen.width(), characters + BESIDE_STRIP));
    }

    /** Held; held in part, or announced and not believed; missing. The last character stands for what is left. */
    private static String strip(int blocks, int perCharacter, int matched, int promised, Screen screen) {
        var strip = new StringBuilder();
        for (int from = 0; from < blocks; from += perCharacter) {
            int to = Math.min(blocks, from + perCharacter);
            strip.append(to <= matched ? screen.held() : from < promised ? screen.partly() : screen.missing());
        }
        return strip.toString();
    }

    private static Table costs(JsonNode candidates) {
        Map<String, Boolean> terms = new LinkedHashMap<>();
        candidates.forEach(each -> each.path("terms").properties()
                .forEach(term -> terms.merge(term.getKey(), term.getValue().asLong(0) != 0, Boolean::logicalOr)));
        List<String> shown = terms.entrySet().stream().filter(Map.Entry::getValue).map(Map.Entry::getKey).toList();
        var table = new Table().left("candidate", 9).right("cost", 8);
        shown.forEach(term -> table.right(term, 7));
        table.left("health", 3).left("grade", 4).right("requests", 2).right("blocks in use", 1);
        for (JsonNode candidate : candidates) {
            List<String> cells = new ArrayList<>(List.of(candidate.path("worker").asString("?"),
                    FleetPage.count(candidate.path("cost").asLong(0))));
            shown.forEach(term -> cells.add(FleetPage.count(candidate.path("terms").path(term).asLong(0))));
            cells.addAll(List.of(candidate.path("health").asString("?"), candidate.path("grade").asString("?"),
                    number(candidate.path("requests")), number(candidate.path("used_blocks")) + "/"
                            + number(candidate.path("block_count"))));
            table.row(cells.toArray(String[]::new));
        }
        return table;
    }

    private static String number(JsonNode value) {
        return value.isNumber() ? FleetPage.count(value.asLong()) : FleetPage.known(null);
    }

    private static String millis(JsonNode value) {
        return value.isNumber() ? FleetPage.duration(value.asDouble()) : FleetPage.known(null);
    }
}
