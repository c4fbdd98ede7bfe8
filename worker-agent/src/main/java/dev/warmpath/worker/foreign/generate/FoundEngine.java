package dev.warmpath.worker.foreign.generate;

/** An engine that answers, and how it is asked. */
public final class FoundEngine {

    private final EngineFacts facts;
    private final Dialect dialect;

    FoundEngine(EngineFacts facts, Dialect dialect) {
        this.facts = facts;
        this.dialect = dialect;
    }

    public EngineFacts facts() {
        return facts;
    }

    Dialect dialect() {
        return dialect;
    }
}
