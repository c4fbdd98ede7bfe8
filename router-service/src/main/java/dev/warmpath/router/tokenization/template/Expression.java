package dev.warmpath.router.tokenization.template;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** What has a value. Names of filters, tests, functions and methods are resolved already: the parser refuses others. */
sealed interface Expression {
    record Constant(Value value) implements Expression {}

    record Name(String name) implements Expression {}

    record ListOf(List<Expression> items, boolean tuple) implements Expression {}

    record DictOf(List<Expression> keys, List<Expression> values) implements Expression {}

    record Attribute(Expression base, String name, int line) implements Expression {}

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
     * A filter, test, function or method at work.
     * @param target    the filtered or tested value, or the owner of the method; null for a function
     * @param arguments one per parameter of the callee, null where none was given; any number for an open callee
     * @param names     names of the arguments of an open callee, null for positional ones; else empty
     */
    record Call(Builtins.Callee callee, @Nullable Expression target, List<@Nullable Expression> arguments,
            List<@Nullable String> names, int line) implements Expression {}

    record MacroCall(String name, List<Expression> positional, List<String> names, List<Expression> named, int line)
            implements Expression {}
}
