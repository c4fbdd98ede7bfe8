package dev.warmpath.router.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.warmpath.router.fleet.IndexGrade;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RouteSnapshotTest {

    private static final RouteQuery QUERY = new RouteQuery(100, 16);

    /** Costs 999 down to 0; the chosen one, of cost 900, is on trial. */
    @Test
    void of_a_thousand_candidates_the_fifteen_cheapest_and_the_chosen_one_are_kept() {
        List<CandidateCost> all = IntStream.range(0, 1_000).mapToObj(i -> of(i, 999 - i, IndexGrade.EXACT)).toList();

        RouteSnapshot snapshot = RouteSnapshot.bounded(QUERY, new Choice(99, RouteReason.TRIAL, all), LeftOut.NOBODY);
        assertThat(snapshot.candidateCount()).isEqualTo(1_000);
        assertThat(snapshot.candidates()).extracting(CandidateCost::cost).containsExactly(
                900L, 14L, 13L, 12L, 11L, 10L, 9L, 8L, 7L, 6L, 5L, 4L, 3L, 2L, 1L, 0L);
    }

    @Test
    void sixteen_candidates_are_all_kept_and_an_explanation_keeps_a_thousand() {
        List<CandidateCost> some = IntStream.range(0, 16).mapToObj(i -> of(i, i, IndexGrade.EXACT)).toList();
        List<CandidateCost> many = IntStream.range(0, 1_000).mapToObj(i -> of(i, i, IndexGrade.EXACT)).toList();

        assertThat(RouteSnapshot.bounded(QUERY, new Choice(3, RouteReason.LOAD, some), LeftOut.NOBODY).candidates())
                .isEqualTo(some);
        assertThat(RouteSnapshot.whole(QUERY, new Choice(3, RouteReason.LOAD, many), LeftOut.NOBODY).candidates())
                .isEqualTo(many);
    }

    @Test
    void the_worst_grade_is_told_even_of_a_candidate_that_is_not_kept() {
        List<CandidateCost> all = IntStream.range(0, 100)
                .mapToObj(i -> of(i, i, i == 99 ? IndexGrade.LOAD : i == 98 ? IndexGrade.ASSUMED : IndexGrade.EXACT))
                .toList();

        assertThat(RouteSnapshot.bounded(QUERY, new Choice(0, RouteReason.LOAD, all), LeftOut.NOBODY).indexGrade())
                .isEqualTo(IndexGrade.LOAD);
    }

    /** 40 blocks at the dearest of a hundred, which is not kept. */
    @Test
    void what_somebody_holds_of_the_prompt_is_told_even_of_a_candidate_that_is_not_kept() {
        List<CandidateCost> all = IntStream.range(0, 100).mapToObj(i -> {
            Candidate candidate = CandidateBuilder.named("w" + i).matched(i == 99 ? 40 : 2).build();
            return new CandidateCost(candidate, i, new Terms(List.of("cost"), i));
        }).toList();

        assertThat(RouteSnapshot.bounded(QUERY, new Choice(0, RouteReason.LOAD, all), LeftOut.NOBODY)
                .mostMatchedBlocks()).isEqualTo(40);
    }

    @Test
    void terms_are_found_by_their_names() {
        var terms = new Terms(List.of("uncached", "pending"), 40, 2);

        assertThat(terms.sum()).isEqualTo(42);
        assertThat(terms.get("pending")).isEqualTo(2);
        assertThat(terms.asMap().toString()).isEqualTo("{uncached=40, pending=2}");
        assertThatIllegalArgumentException().isThrownBy(() -> terms.get("slots"))
                .withMessage("no term 'slots' among [uncached, pending]");
    }

    private static CandidateCost of(int number, long cost, IndexGrade grade) {
        Candidate candidate = CandidateBuilder.named("w" + number).graded(grade).build();
        return new CandidateCost(candidate, cost, new Terms(List.of("cost"), cost));
    }
}
