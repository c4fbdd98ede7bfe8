package dev.warmpath.worker.foreign.generate;

import dev.warmpath.protocol.fleet.Ability;
import dev.warmpath.tokenization.Spelling;
import java.util.EnumSet;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** An engine that answers, and how it is asked. */
public final class FoundEngine {

    private final EngineFacts facts;
    private final Dialect dialect;
    private final @Nullable Supplier<Spelling> spelling;

    /** One that has token ids. */
    FoundEngine(EngineFacts facts, Dialect dialect) {
        this(facts, dialect, null);
    }

    /** @param spelling of its model, should this or another life of it take text only */
    FoundEngine(EngineFacts facts, Dialect dialect, @Nullable Supplier<Spelling> spelling) {
        this.facts = facts;
        this.dialect = dialect;
        this.spelling = spelling;
    }

    public EngineFacts facts() {
        return facts;
    }

    /** What routers may send here without being refused, whatever the values are. */
    public Set<Ability> abilities() {
        return switch (dialect) {
            case Completions(var _, boolean isVllm) -> isVllm ? EnumSet.allOf(Ability.class)
                    : EnumSet.of(Ability.CHOICES);
            case TextCompletions _ -> EnumSet.of(Ability.CHOICES);
            case VllmTokens(var _, boolean tellsLogprobs) -> tellsLogprobs ? EnumSet.allOf(Ability.class)
                    : EnumSet.complementOf(EnumSet.of(Ability.LOGPROBS));
            case SglangTokens _ -> EnumSet.allOf(Ability.class);
        };
    }

    /** False: it takes and gives text only. */
    public boolean tellsIds() {
        return dialect.tellsIds();
    }

    /** Whether another life of an engine can stand for this one: all is the same but when it began. */
    boolean isLike(FoundEngine other) {
        return facts.withStart(0).equals(other.facts.withStart(0)) && dialect.equals(other.dialect);
    }

    @Nullable Supplier<Spelling> spelling() {
        return spelling;
    }

    Dialect dialect() {
        return dialect;
    }
}
