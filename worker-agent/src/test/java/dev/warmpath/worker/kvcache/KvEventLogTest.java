package dev.warmpath.worker.kvcache;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KeySetDigest;
import dev.warmpath.worker.kvcache.KvEventLog.Entry;
import dev.warmpath.worker.kvcache.KvEventLog.Kind;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class KvEventLogTest {

    private static final int GROUP = 0;

    private final KvEventLog log = new KvEventLog(GROUP);

    @Test
    void stores_and_removals_are_told_removals_first_and_then_forgotten() {
        log.stored(1, 100, GROUP, true);
        log.stored(2, 200, GROUP, true);
        assertThat(applied(log.drain())).containsExactly("stored 100", "stored 200");

        log.stored(3, 300, GROUP, true);
        log.removed(2, 200, GROUP, true);
        assertThat(applied(log.drain())).containsExactly("removed 200", "stored 300");

        assertThat(log.drain()).isEmpty();
        assertThat(log.announced().count()).isEqualTo(2);
        assertThat(log.announced().value()).isEqualTo(digest(100, 300));
    }

    @Test
    @DisplayName("K26: two of three copies' removals are the set's")
    void a_key_is_announced_with_its_first_copy_and_withdrawn_with_the_last() {
        log.stored(4, 100, GROUP, true);
        log.stored(5, 100, GROUP, false);
        log.stored(6, 200, GROUP, true);
        assertThat(applied(log.drain())).containsExactly("stored 100", "stored 200");

        log.removed(4, 100, GROUP, false);
        log.removed(6, 200, GROUP, true);
        log.removed(5, 100, GROUP, true);

        assertThat(log.entries()).containsExactly(
                new Entry(3, Kind.REMOVED, 4, 100, GROUP),
                new Entry(4, Kind.REMOVED, 6, 200, GROUP),
                new Entry(5, Kind.REMOVED, 5, 100, GROUP));
        assertThat(applied(log.drain())).containsExactly("removed 200", "removed 100");
        assertThat(log.announced().count()).isZero();
    }

    @Test
    void a_key_that_came_and_went_is_not_mentioned_and_one_that_came_again_counts_from_then() {
        log.stored(1, 100, GROUP, true);
        log.stored(2, 200, GROUP, true);
        log.removed(1, 100, GROUP, true);
        log.stored(3, 300, GROUP, true);
        log.removed(3, 300, GROUP, true);
        log.stored(4, 100, GROUP, true);

        assertThat(applied(log.drain())).containsExactly("stored 200", "stored 100");
    }

    @Test
    void a_key_that_went_and_came_back_is_not_mentioned() {
        log.stored(1, 100, GROUP, true);
        log.drain();

        log.removed(1, 100, GROUP, true);
        log.stored(2, 100, GROUP, true);

        assertThat(log.drain()).isEmpty();
        assertThat(log.announced().count()).isEqualTo(1);
    }

    @Test
    void entries_of_steps_in_flight_wait_for_their_own_drain() {
        log.stored(1, 100, GROUP, true);
        log.stored(2, 200, GROUP, true);
        long firstStep = log.eventCount();
        log.removed(2, 200, GROUP, true);
        log.stored(2, 300, GROUP, true);

        assertThat(applied(log.drain(firstStep))).containsExactly("stored 100", "stored 200");
        assertThat(log.isDrained()).isFalse();
        assertThat(log.drain(firstStep)).as("they are drained").isEmpty();
        assertThat(log.drain(0)).as("long ago").isEmpty();
        assertThat(log.entries()).containsExactly(
                new Entry(2, Kind.REMOVED, 2, 200, GROUP), new Entry(3, Kind.STORED, 2, 300, GROUP));
        assertThat(applied(log.drain(4))).containsExactly("removed 200", "stored 300");
        assertThat(log.isDrained()).isTrue();
    }

    @Test
    void events_that_did_not_happen_cannot_be_drained() {
        log.stored(1, 100, GROUP, true);

        assertThatIllegalArgumentException().isThrownBy(() -> log.drain(2))
                .withMessage("events up to 2 cannot be drained, there were 1");
        assertThat(log.eventCount()).isEqualTo(1);
    }

    @Test
    void a_clear_makes_everything_before_it_of_no_account() {
        log.stored(1, 100, GROUP, true);
        log.drain();
        log.stored(2, 200, GROUP, true);
        log.removed(1, 100, GROUP, true);
        log.cleared();
        log.stored(3, 200, GROUP, true);

        assertThat(applied(log.drain())).containsExactly("cleared", "stored 200");
        assertThat(log.announced().value()).isEqualTo(digest(200));
    }

    @Test
    void other_groups_are_logged_and_not_announced() {
        log.stored(1, 100, 1, true);
        log.removed(1, 100, 1, true);
        log.stored(2, 100, 2, true);

        assertThat(log.entries()).extracting(Entry::group).containsExactly(1, 1, 2);
        assertThat(log.drain()).isEmpty();
        assertThat(log.isDrained()).isTrue();
        assertThat(log.eventCount()).isEqualTo(3);
    }

    @Test
    void a_cache_that_announces_nothing_announces_no_clear_either() {
        var silent = new KvEventLog(KvEventLog.NO_GROUP);
        silent.stored(1, 100, 0, true);
        silent.cleared();

        assertThat(silent.drain()).isEmpty();
        assertThat(silent.eventCount()).isEqualTo(2);
    }

    @Test
    void random_changes_drained_at_random_numbers_lead_to_the_set_at_that_number() {
        long seed = 20260821;
        var random = new Random(seed);
        Set<Long> now = new LinkedHashSet<>();
        List<Set<Long>> after = new ArrayList<>(List.of(Set.of()));  // the set after so many entries
        Set<Long> replica = new LinkedHashSet<>();
        for (int i = 0; i < 200_000; i++) {
            long key = random.nextInt(30);
            int dice = random.nextInt(1000);
            if (dice == 0) {
                log.cleared();
                now.clear();
                after.add(Set.of());
            } else if (dice < 900) {
                boolean changes = random.nextInt(4) > 0;
                if (now.contains(key)) {
                    log.removed(1, key, GROUP, changes);
                    now.removeAll(changes ? Set.of(key) : Set.of());
                } else {
                    log.stored(1, key, GROUP, changes);
                    now.addAll(changes ? Set.of(key) : Set.of());
                }
                after.add(Set.copyOf(now));
            } else if (dice < 905 || log.entries().size() > 2000) {
                long upTo = log.eventCount() - random.nextInt(log.entries().size() + 1);
                apply(log.drain(upTo), replica);
                assertThat(replica).as("seed %d, step %d", seed, i).isEqualTo(after.get((int) upTo));
                assertThat(log.announced().value()).isEqualTo(digest(replica.stream().mapToLong(k -> k).toArray()));
            }
        }
        assertThat(log.eventCount()).isEqualTo(after.size() - 1);
    }

    /** Applies changes as a reader does, who refuses a key that is stored twice or removed without being there. */
    private static void apply(List<BlockChange> changes, Set<Long> replica) {
        for (BlockChange change : changes) {
            switch (change) {
                case BlockChange.Cleared() -> replica.clear();
                case BlockChange.Removed removed -> {
                    for (long key : removed.keys()) {
                        assertThat(replica.remove(key)).isTrue();
                    }
                }
                case BlockChange.Stored stored -> {
                    for (long key : stored.keys()) {
                        assertThat(replica.add(key)).isTrue();
                    }
                }
            }
        }
    }

    private static List<String> applied(List<BlockChange> changes) {
        List<String> lines = new ArrayList<>();
        for (BlockChange change : changes) {
            switch (change) {
                case BlockChange.Cleared() -> lines.add("cleared");
                case BlockChange.Removed removed -> {
                    for (long key : removed.keys()) {
                        lines.add("removed " + key);
                    }
                }
                case BlockChange.Stored stored -> {
                    for (long key : stored.keys()) {
                        lines.add("stored " + key);
                    }
                }
            }
        }
        return lines;
    }

    private static long digest(long... keys) {
        var digest = new KeySetDigest();
        for (long key : keys) {
            digest.add(key);
        }
        return digest.value();
    }
}
