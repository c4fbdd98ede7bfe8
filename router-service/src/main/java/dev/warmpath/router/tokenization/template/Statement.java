package dev.warmpath.router.tokenization.template;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a template does, in order. */
sealed interface Statement {
    record Print(Expression value, int line) implements Statement {}

    record PrintText(Text text) implements Statement {}

    record If(Expression condition, List<Statement> then, List<Statement> otherwise) implements Statement {}

    /** @param targets one name, or the names that each item is unpacked into */
    record For(List<String> targets, Expression items, @Nullable Expression filter, List<Statement> body,
            List<Statement> otherwise, int line) implements Statement {}

    /** @param targets one name, or the names that the value is unpacked into */
    record Set(List<String> targets, Expression value, int line) implements Statement {}

    record SetField(String namespace, String field, Expression value, int line) implements Statement {}

    record SetBlock(String target, List<Statement> body) implements Statement {}

    /** @param defaults one per parameter, null where the caller must give the argument or gets Undefined */
    record MacroDefinition(String name, List<String> parameters, List<@Nullable Expression> defaults,
            List<Statement> body) implements Statement {}

    /** {@code {% generation %}}: marks for training what the model wrote; here it only bounds variables. */
    record Generation(List<Statement> body) implements Statement {}

    record Break() implements Statement {}

    record Continue() implements Statement {}
}
