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

    /** Whether another life of an engine can stand for this one: all is the same but when it began. */
    boolean isLike(FoundEngine other) {
        return facts.withStart(0).equals(other.facts.withStart(0)) && dialect.equals(other.dialect);
    }

    Dialect dialect() {
        return dialect;
    }
}
