package dev.warmpath.benchmarks.gateway;

/** What is measured of a gateway: the rows of the table. */
enum Figure {
    SHORT_CPU("short: CPU, ms a request", 2, true),
    MID_CPU("mid: CPU, ms a request", 2, true),
    LONG_CPU("long: CPU, ms a request", 2, true),
    LATER_TURN_CPU("later turn: CPU, ms a request", 2, true),
    TOKEN_ALONE_CPU("streamed token, alone: CPU, µs", 1, true),
    TOKEN_BURST_CPU("streamed token, 8 together: CPU, µs", 1, true),
    MOST_REQUESTS("most requests/s, short", 0, true),
    FIRST_P50("first token, added at 30 % load, p50: ms", 2, true),
    FIRST_P99("first token, added at 30 % load, p99: ms", 2, true),
    GAP_P99("gap of running streams (10 ms set) beside mid prompts, p99: ms", 1, true),
    STREAM_MEMORY("3,000 streams: KiB a stream", 0, true),
    STREAMS_LOST("3,000 streams: bad answers", 0, false),
    LEASES_LOST("3,000 streams: leases lost", 0, false),
    REQUEST_ALLOCATION("short: allocated, KiB a request", 1, false),
    TOKEN_ALLOCATION("streamed token: allocated, KiB", 2, false),
    START_TIME("start to first answer: s", 1, false),
    /** Of the machine's other processes, while costs were measured: the more, the less the figures are worth. */
    FOREIGN_LOAD("others' load meanwhile: cores", 2, false);

    final String title;
    final int decimals;
    /** Whether a ratio to another gateway says something. */
    final boolean isCompared;

    Figure(String title, int decimals, boolean isCompared) {
        this.title = title;
        this.decimals = decimals;
        this.isCompared = isCompared;
    }
}
