package dev.warmpath.router.models;

import static dev.warmpath.router.fleet.TestWorkers.TOKENIZER;
import static dev.warmpath.router.fleet.TestWorkers.model;
import static dev.warmpath.router.fleet.TestWorkers.parts;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.block.HashSettings;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class RevisionSharesTest {

    private static final ServedModel A = served("a");
    private static final ServedModel B = served("b");
    private static final ServedModel C = served("c");
    private static final int CONVERSATIONS = 100_000;

    private final SplittableRandom random = new SplittableRandom(7);

    @Test
    void conversations_are_shared_by_weight() {
        var weights = Map.of(A, 16.0, B, 4.0);
        int ofB = 0;
        for (int i = 0; i < CONVERSATIONS; i++) {
            ofB += RevisionShares.choose(weights, random.nextLong()) == B ? 1 : 0;
        }
        assertThat(ofB / (double) CONVERSATIONS).isBetween(0.19, 0.21);
    }

    @Test
    void a_revision_that_gains_weight_takes_from_others_and_nobody_else_moves() {
        int moved = 0;
        for (int i = 0; i < CONVERSATIONS; i++) {
            long beginning = random.nextLong();
            ServedModel before = RevisionShares.choose(Map.of(A, 8.0, B, 8.0, C, 4.0), beginning);
            ServedModel after = RevisionShares.choose(Map.of(A, 8.0, B, 8.0, C, 24.0), beginning);
            if (before != after) {
                assertThat(after).isEqualTo(C);
                moved++;
            }
        }
        assertThat(moved / (double) CONVERSATIONS).as("from 4 of 20 to 24 of 40").isBetween(0.39, 0.41);
    }

    @Test
    void nobody_can_be_chosen_of_none() {
        assertThat(RevisionShares.choose(Map.of(), 1)).isNull();
    }

    private static ServedModel served(String letter) {
        return new ServedModel(model("tiny", parts(letter.repeat(64)), 0), HashSettings.ofBlockSize(16), TOKENIZER);
    }
}
