package dev.warmpath.capacity;

/**
 * How full a pool of blocks should be: 85 to 90 % of it in use by requests is where a card earns most. Below, memory
 * lies idle, which is fine as long as nobody waits; above, the next long answer preempts another one.
 */
public enum WorkingPoint {

    /** Nobody waits, and there is room. */
    ROOM("has room", ""),
    /** In the range. */
    GOOD("is where it should be", ""),
    /** Requests wait though there are blocks: something else is short. */
    WAITS_WITH_ROOM("keeps requests waiting though it has room",
            "raise warmpath.scheduler.max-num-seqs (vLLM: --max-num-seqs), or look for what else is short"),
    /** Above the range, nobody was preempted yet. */
    TIGHT("is nearly full", "the next long answer will preempt another one: add a worker, or lower"
            + " warmpath.scheduler.max-num-seqs (vLLM: --max-num-seqs)"),
    /** Requests lost their blocks. */
    PREEMPTS("preempts requests, which are computed again", "add workers or memory for blocks, or lower"
            + " warmpath.scheduler.max-num-seqs (vLLM: --max-num-seqs)");

    public static final double LEAST = 0.85;
    public static final double MOST = 0.90;

    private final String text;
    private final String advice;

    WorkingPoint(String text, String advice) {
        this.text = text;
        this.advice = advice;
    }

    /** As the end of a sentence about a pool. */
    public String text() {
        return text;
    }

    /** What to do; empty if nothing. */
    public String advice() {
        return advice;
    }

    /**
     * @param usedShare   of the pool's blocks, by requests, 0 to 1
     * @param preemptions of late
     * @param waiting     requests in the queue
     */
    public static WorkingPoint of(double usedShare, long preemptions, long waiting) {
        if (preemptions > 0) {
            return PREEMPTS;
        } else if (usedShare > MOST) {
            return TIGHT;
        } else if (usedShare >= LEAST) {
            return GOOD;
        }
        return waiting > 0 ? WAITS_WITH_ROOM : ROOM;
    }
}
