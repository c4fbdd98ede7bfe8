package dev.warmpath.cli.start;

import org.jspecify.annotations.Nullable;

/**
 * What a router's heap may grow to; docs/operations.md, What a router's heap holds. Half of it is for bodies of
 * requests ({@code warmpath.admission.body-heap-share}); the other half holds its caches, an idle router and its
 * streams, and half as much as these two to spare.
 */
final class RouterHeap {

    private static final int IDLE_MB = 32;
    /** {@code warmpath.tokenization.segment-cache} and {@code .routing.recent-chains}, full. */
    private static final int CACHES_MB = 96;
    private static final int STREAM_KIB = 100;
    /** Two of the longest at the same time. */
    static final int BODIES_MB = 256;
    /** And {@code warmpath.admission.max-in-flight}'s default: four for each sequence. */
    private static final int LEAST_STREAMS = 512;
    private static final int STREAMS_PER_SEQUENCE = 4;
    private static final int SEQUENCES_ON_PROCESSORS = 64;
    private static final int SEQUENCES_ON_A_CARD = 256;
    private static final int KIB_PER_MB = 1024;

    private RouterHeap() {}

    /**
     * @param workers   of the fleet
     * @param sequences that a worker takes, as it was set; null: the default of its backend
     * @param streams   that a router takes, as it was set; null: as many as the workers' sequences want
     * @return in MB
     */
    static int megabytes(int workers, String backend, @Nullable String sequences, @Nullable String streams) {
        int perWorker = count(sequences,
                backend.equals("auto") || backend.equals("cuda") ? SEQUENCES_ON_A_CARD : SEQUENCES_ON_PROCESSORS);
        int held = IDLE_MB + (STREAM_KIB * count(streams,
                Math.max(LEAST_STREAMS, STREAMS_PER_SEQUENCE * workers * perWorker)) + KIB_PER_MB - 1) / KIB_PER_MB;
        return Math.max(2 * BODIES_MB, (held * 3 / 2 + CACHES_MB) * 2);
    }

    private static int count(@Nullable String given, int otherwise) {
        return given != null && given.matches("[1-9][0-9]{0,5}") ? Integer.parseInt(given) : otherwise;
    }
}
