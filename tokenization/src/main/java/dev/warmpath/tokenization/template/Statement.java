package dev.warmpath.tokenization.template;

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

    /**
     * A {@code set} or {@code filter} block.
     *
     * @param then what is done with its text, which is the variable {@link #BLOCK}
     */
    record Captured(List<Statement> body, Statement then) implements Statement {}

    /** {@code {% with a = 1, b = 2 %}}: variables of the block alone. */
    record With(List<String> targets, List<Expression> values, List<Statement> body) implements Statement {}

    /**
     * A macro; also the body of a {@code call} block, as the macro {@link #CALLER}.
     *
     * @param defaults one per parameter, null where the caller must give the argument or gets Undefined
     * @param extras   of {@link #CALLER}, {@link #MORE} and {@link #MORE_NAMED} those that the body speaks of: it gets
     *                 no others
     */
    record MacroDefinition(String name, List<String> parameters, List<@Nullable Expression> defaults,
            List<Statement> body, java.util.Set<String> extras) implements Statement {}

    /** {@code {% call(x) f(y) %}}: prints {@code f(y)}, which calls the block. */
    record CallBlock(MacroDefinition block, Expression.Invocation call) implements Statement {}

    /** {@code {% generation %}}: marks for training what the model wrote; here it only bounds variables. */
    record Generation(List<Statement> body) implements Statement {}

    record Break() implements Statement {}

    record Continue() implements Statement {}

    /** What fails if it is reached, and only then. */
    record Fail(Expression.Failure failure) implements Statement {}

    /** No template can have a variable of this name. */
    String BLOCK = " block";
    String CALLER = "caller";
    /** Positional arguments beyond the parameters. */
    String MORE = "varargs";
    /** Named arguments beyond the parameters. */
    String MORE_NAMED = "kwargs";
}
