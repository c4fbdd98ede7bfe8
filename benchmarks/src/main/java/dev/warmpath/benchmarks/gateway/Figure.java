package dev.warmpath.benchmarks.gateway;

/** What is measured of a gateway: the rows of the table. */
enum Figure {
    SHORT_CPU("short: CPU, ms a request", 2),
    MID_CPU("mid: CPU, ms a request", 2),
    LONG_CPU("long: CPU, ms a request", 2),
    LATER_TURN_CPU("later turn: CPU, ms a request", 2),
    TOKEN_ALONE_CPU("streamed token, alone: CPU, µs", 1),
    TOKEN_BURST_CPU("streamed token, 8 together: CPU, µs", 1),
    MOST_REQUESTS("most requests/s, short", 0),
    FIRST_P50("first token, added at 30 % load, p50: ms", 2),
    FIRST_P99("first token, added at 30 % load, p99: ms", 2),
    GAP_P99("gap of running streams beside mid prompts, p99: ms", 1),
    STREAM_MEMORY("3,000 streams: KiB a stream", 0),
    STREAMS_LOST("3,000 streams: bad answers", 0),
    LEASES_LOST("3,000 streams: leases lost", 0),
    REQUEST_ALLOCATION("short: allocated, KiB a request", 1),
    TOKEN_ALLOCATION("streamed token: allocated, KiB", 2),
    START_TIME("start to first answer: s", 1);

    final String title;
    final int decimals;

    Figure(String title, int decimals) {
        this.title = title;
        this.decimals = decimals;
    }
}
