package dev.warmpath.tokenization.template;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** What has a value. Names of filters, tests and functions are resolved; one that nobody knows fails if called. */
sealed interface Expression {
    record Constant(Value value) implements Expression {}

    record Name(String name) implements Expression {}

    record ListOf(List<Expression> items, boolean tuple) implements Expression {}

    record DictOf(List<Expression> keys, List<Expression> values) implements Expression {}

    /** @param method that strings, lists or dicts have by this name: it wins over a dict's key */
    record Attribute(Expression base, String name, @Nullable Callee method, int line) implements Expression {}

    record Item(Expression base, Expression index, int line) implements Expression {}

    record Slice(Expression base, @Nullable Expression start, @Nullable Expression stop, @Nullable Expression step,
            int line) implements Expression {}

    /** {@code +x} or {@code -x}. */
    record Signed(Expression operand, boolean negative, int line) implements Expression {}

    record Arithmetic(String operator, Expression left, Expression right, int line) implements Expression {}

    /** {@code first op operand op operand …}: each neighbour pair must hold. */
    record Comparison(Expression first, List<String> operators, List<Expression> operands, int line)
            implements Expression {}

    record And(Expression left, Expression right) implements Expression {}

    record Or(Expression left, Expression right) implements Expression {}

    record Not(Expression operand) implements Expression {}

    /** {@code a ~ b ~ c}. */
    record Concatenation(List<Expression> parts) implements Expression {}

    record Conditional(Expression condition, Expression then, @Nullable Expression otherwise) implements Expression {}

    /**
     * A filter, test or function at work, or a method where the owner has it.
     *
     * @param target    the filtered or tested value, or the owner of the method; null for a function
     * @param arguments one per parameter of the callee, null where none was given; any number for an open callee
     * @param names     names of the arguments of an open callee, null for positional ones; else empty
     * @param otherwise of a method: the call where the owner has no such method, but maybe an attribute
     */
    record Call(Callee callee, @Nullable Expression target, List<@Nullable Expression> arguments,
            List<@Nullable Text> names, @Nullable Invocation otherwise, int line) implements Expression {}

    /** A call of whatever the value turns out to be: a macro, as a rule. */
    record Invocation(Expression callee, CallArguments arguments, int line) implements Expression {}

    /** What fails if it is evaluated, and only then. */
    record Failure(TemplateException.Kind kind, String message, int line) implements Expression {}

    /**
     * As written.
     *
     * @param spread      {@code *list}, behind the positional ones
     * @param spreadNamed {@code **dict}, behind the named ones
     */
    record CallArguments(List<Expression> positional, List<Text> names, List<Expression> named,
            @Nullable Expression spread, @Nullable Expression spreadNamed) {
        static final CallArguments NONE = new CallArguments(List.of(), List.of(), List.of(), null, null);

        boolean isSpread() {
            return spread != null || spreadNamed != null;
        }
    }
}
