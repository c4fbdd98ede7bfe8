package dev.warmpath.cli.doctor;

import dev.warmpath.capacity.HitRate;
import dev.warmpath.capacity.LowHitRate;
import dev.warmpath.capacity.LowHitRate.Facts;
import dev.warmpath.capacity.WorkingPoint;
import dev.warmpath.cli.look.PrometheusText;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;

/** Looks at caches: how much of prompts they find, against what they could, and how full their pools are. */
final class CacheDoctor {

    /** Blocks that were looked up: with fewer, a rate says little. */
    private static final double FEW_QUERIES = HitRate.WINDOW;
    /** The size of blocks is of no account for what is told here. */
    private static final int ANY_BLOCK = 16;

    private final Consumer<Finding> findings;

    CacheDoctor(Consumer<Finding> findings) {
        this.findings = findings;
    }

    /**
     * @param routers what they answer for Prometheus, by id
     * @param workers likewise
     */
    void look(Map<String, String> routers, Map<String, String> workers) {
        Map<String, PrometheusText> meters = new LinkedHashMap<>();
        workers.forEach((id, text) -> meters.put(id, new PrometheusText(text)));
        meters.values().removeIf(each -> each.sum("warmpath_kv_blocks") == 0);
        if (!meters.isEmpty()) {
            hits(routers.values().stream().map(PrometheusText::new).toList(), List.copyOf(meters.values()));
            meters.forEach(this::pool);
        }
    }

    private void hits(List<PrometheusText> routers, List<PrometheusText> workers) {
        double queries = sum(workers, "warmpath_prefix_cache_queries_blocks_total");
        double hits = sum(workers, "warmpath_prefix_cache_hits_blocks_total");
        if (queries < FEW_QUERIES) {
            findings.accept(Finding.ok(String.format(Locale.ROOT, "the cache was asked for %,.0f blocks so far, too"
                    + " few to tell how much it finds", queries)));
            return;
        }
        double rate = HitRate.of((long) hits, (long) queries);
        double prompts = sum(routers, "warmpath_prompt_tokens_total");
        double somewhere = sum(routers, "warmpath_fleet_cached_tokens_total");
        Facts facts = Facts.of(ANY_BLOCK).withPrefixCaching(hits > 0 || sum(workers, "warmpath_kv_blocks_cached") > 0);
        if (prompts > 0) {
            // of tokens: a prompt's last block is in neither part
            facts = facts.withRates(sum(routers, "warmpath_cached_tokens_total") / prompts, somewhere / prompts);
        }
        List<String> causes = LowHitRate.causes(facts);
        String found = String.format(Locale.ROOT, "%.1f %% of prompts' blocks were found cached", 100 * rate);
        if (causes.isEmpty()) {
            findings.accept(Finding.ok(found + (prompts == 0 ? "" : String.format(Locale.ROOT,
                    "; some worker held %.1f %% of prompts when they came", 100 * somewhere / prompts))));
        }
        causes.forEach(cause -> findings.accept(Finding.warning(found + ": " + cause)));
    }

    private static double sum(List<PrometheusText> all, String name) {
        return all.stream().mapToDouble(each -> each.sum(name)).sum();
    }

    private void pool(String worker, PrometheusText meters) {
        double used = meters.sum("warmpath_kv_usage_ratio");
        WorkingPoint point = WorkingPoint.of(used, (long) meters.sum("warmpath_engine_preemptions_sequences_total"),
                (long) meters.sum("warmpath_engine_waiting_sequences"));
        String sentence = String.format(Locale.ROOT, "the pool of %s %s: %.0f %% of %,.0f blocks are in use", worker,
                point.text(), 100 * used, meters.sum("warmpath_kv_blocks"));
        findings.accept(point.advice().isEmpty() ? Finding.ok(sentence) : Finding.warning(sentence + "; "
                + point.advice()));
    }
}
