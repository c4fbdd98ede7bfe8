package dev.warmpath.tokenization.template;

import dev.warmpath.tokenization.template.Expression.CallArguments;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The values of expressions, in the variables of one run of a template; calls macros. */
final class Evaluation {
    /** What a macro's body prints. */
    @FunctionalInterface
    interface Body {
        Text print(Scope inside, List<Statement> body);
    }

    private final RenderContext context;
    private final Body bodies;
    private Scope scope;

    Evaluation(RenderContext context, Scope scope, Body bodies) {
        this.context = context;
        this.scope = scope;
        this.bodies = bodies;
    }

    Scope scope() {
        return scope;
    }

    /** @return the scope until now */
    Scope enter(Scope next) {
        Scope before = scope;
        scope = next;
        return before;
    }

    boolean isTrue(Expression condition) {
        return Operators.truth(evaluate(condition));
    }

    Value evaluate(Expression expression) {
        context.enter();
        Value value = switch (expression) {
            case Expression.Constant(Value constant) -> constant;
            case Expression.Name(String name) -> variable(name);
            case Expression.ListOf(var items, boolean tuple) -> {
                context.items(items.size());
                yield new Value.Sequence(evaluateAll(items), tuple);
            }
            case Expression.DictOf dict -> dict(dict);
            case Expression.Attribute(var base, String name, var method, int line) -> {
                Value owner = evaluate(base);
                context.at(line);
                yield Access.attribute(owner, name, method, context);
            }
            case Expression.Item(var base, var index, int line) -> {
                Value owner = evaluate(base);
                Value place = evaluate(index);
                context.at(line);
                yield Access.item(owner, place, context);
            }
            case Expression.Slice(var base, var start, var stop, var step, int line) -> {
                Value owner = evaluate(base);
                context.at(line);
                yield Access.slice(owner, optional(start), optional(stop), optional(step), context);
            }
            case Expression.Signed(var operand, boolean negative, int line) -> {
                Value number = evaluate(operand);
                context.at(line);
                yield Arithmetic.signed(number, negative, context);
            }
            case Expression.Arithmetic(String operator, var left, var right, int line) -> {
                Value first = evaluate(left);
                Value second = evaluate(right);
                context.at(line);
                yield Arithmetic.apply(operator, first, second, context);
            }
            case Expression.Comparison comparison -> comparison(comparison);
            case Expression.And(var left, var right) -> {
                Value first = evaluate(left);
                yield Operators.truth(first) ? evaluate(right) : first;
            }
            case Expression.Or(var left, var right) -> {
                Value first = evaluate(left);
                yield Operators.truth(first) ? first : evaluate(right);
            }
            case Expression.Not(var operand) -> Value.bool(!isTrue(operand));
            case Expression.Concatenation(var parts) -> TextMethods.join(Text.EMPTY, evaluateAll(parts), context);
            case Expression.Conditional(var condition, var then, var otherwise) ->
                isTrue(condition) ? evaluate(then) : otherwise != null ? evaluate(otherwise)
                        : new Value.Undefined("an inline if without else was false");
            case Expression.Call call -> call(call);
            case Expression.Invocation call -> call(call, null);
            case Expression.Failure(var kind, String message, int line) ->
                throw new TemplateException(kind, message, line);
        };
        context.leave();
        return value;
    }

    private Value variable(String name) {
        @Nullable Value value = scope.find(name);
        if (value != null) {
            return value;
        }
        @Nullable Callee function = Builtins.FUNCTIONS.get(name);
        return function != null ? new Value.Function(function)
                : name.equals("self") ? new Value.Dict(Map.of())    // blocks, of which there are none
                : new Value.Undefined("'" + name + "' is undefined");
    }

    private @Nullable Value optional(@Nullable Expression expression) {
        return expression == null ? null : evaluate(expression);
    }

    List<Value> evaluateAll(List<Expression> expressions) {
        var values = new ArrayList<Value>(expressions.size());
        for (Expression expression : expressions) {
            values.add(evaluate(expression));
        }
        return values;
    }

    private Value dict(Expression.DictOf dict) {
        var entries = new LinkedHashMap<Value, Value>();
        context.entries(dict.keys().size());
        for (int i = 0; i < dict.keys().size(); i++) {
            entries.put(Operators.key(evaluate(dict.keys().get(i)), context), evaluate(dict.values().get(i)));
        }
        return new Value.Dict(entries);
    }

    private Value comparison(Expression.Comparison comparison) {
        Value left = evaluate(comparison.first());
        for (int i = 0; i < comparison.operators().size(); i++) {
            Value right = evaluate(comparison.operands().get(i));
            context.at(comparison.line());
            if (!Operators.compare(comparison.operators().get(i), left, right, context)) {
                return Value.FALSE;
            }
            left = right;
        }
        return Value.TRUE;
    }

    private Value call(Expression.Call call) {
        Value target = Value.NONE;
        if (call.target() != null) {
            target = evaluate(call.target());
        }
        if (call.otherwise() != null && !isMeant(call, target)) {
            context.at(call.line());
            return call.target() == null ? call(call.otherwise(), null)
                    : called(Access.attribute(target, call.callee().name(), null, context),
                            call.otherwise().arguments(), null);
        }
        var values = new ArrayList<@Nullable Value>(call.arguments().size());
        for (@Nullable Expression argument : call.arguments()) {
            values.add(argument == null ? null : evaluate(argument));
        }
        context.at(call.line());
        return call.callee().body().call(target, new Callee.Arguments(values, call.names()), context);
    }

    /** Whether a method is one of the target's, and a function is not hidden by a variable. */
    private boolean isMeant(Expression.Call call, Value target) {
        return call.target() == null ? scope.find(call.callee().name()) == null : call.callee().owns().test(target);
    }

    /** @param caller what the macro sees as {@code caller}, or null */
    Value call(Expression.Invocation call, Value.@Nullable Macro caller) {
        Value callee = evaluate(call.callee());
        context.at(call.line());
        return called(callee, call.arguments(), caller);
    }

    private Value called(Value callee, CallArguments written, Value.@Nullable Macro caller) {
        List<Value> positional = evaluateAll(written.positional());
        if (written.spread() != null) {
            positional.addAll(Operators.items(evaluate(written.spread()), context));
        }
        List<Text> names = written.names();
        List<Value> named = evaluateAll(written.named());
        if (written.spreadNamed() != null) {
            names = new ArrayList<>(names);
            spread(evaluate(written.spreadNamed()), names, named);
        }
        return switch (callee) {
            case Value.Macro macro -> macro(macro, positional, names, named, caller);
            case Value.Function(Callee function) when caller == null ->
                function.call(Value.NONE, positional, names, named, context);
            case Value.Method(Value owner, Callee method) when caller == null ->
                method.call(owner, positional, names, named, context);
            default -> {
                Operators.refuseUndefined(callee, context);
                throw context.wrong("'" + Operators.typeName(callee) + "' object is not callable"
                        + (caller == null ? "" : " by a block"));
            }
        };
    }

    private void spread(Value dict, List<Text> names, List<Value> named) {
        if (!(dict instanceof Value.Dict(Map<Value, Value> entries))) {
            throw context.wrong("a dict is needed behind '**', not " + Operators.typeName(dict));
        }
        context.items(entries.size());
        entries.forEach((key, value) -> {
            names.add(TextMethods.string(key, context));
            named.add(value);
        });
    }

    private Value macro(Value.Macro macro, List<Value> positional, List<Text> names, List<Value> named,
            Value.@Nullable Macro caller) {
        Statement.MacroDefinition definition = macro.definition();
        List<String> parameters = definition.parameters();
        Set<String> extras = definition.extras();
        boolean takesCaller = extras.contains(Statement.CALLER) || parameters.contains(Statement.CALLER);
        boolean takesMore = extras.contains(Statement.MORE);
        boolean takesMoreNamed = extras.contains(Statement.MORE_NAMED);
        if (positional.size() > parameters.size() && !takesMore || caller != null && !takesCaller
                || !takesMoreNamed && !names.stream().map(Text::chars).allMatch(parameters::contains)) {
            throw context.wrong("the macro '" + definition.name() + "' takes " + parameters);
        }
        var arguments = new Scope(macro.scope());
        Scope before = enter(arguments);
        for (int i = 0; i < parameters.size(); i++) {
            String parameter = parameters.get(i);
            int place = names.indexOf(Text.trusted(parameter));
            @Nullable Expression otherwise = definition.defaults().get(i);
            arguments.set(parameter, i < positional.size() ? positional.get(i)
                    : place >= 0 ? named.get(place)
                    : caller != null && parameter.equals(Statement.CALLER) ? caller
                    : otherwise != null ? evaluate(otherwise)
                    : new Value.Undefined("parameter '" + parameter + "' was not provided"));
        }
        if (extras.contains(Statement.CALLER)) {
            arguments.set(Statement.CALLER, caller != null ? caller : new Value.Undefined("No caller defined"));
        }
        if (takesMore) {
            arguments.set(Statement.MORE, Value.tuple(
                    positional.subList(Math.min(parameters.size(), positional.size()), positional.size())));
        }
        if (takesMoreNamed) {
            arguments.set(Statement.MORE_NAMED, moreNamed(parameters, names, named));
        }
        Text text = bodies.print(arguments, definition.body());
        enter(before);
        return text;
    }

    private static Value moreNamed(List<String> parameters, List<Text> names, List<Value> named) {
        var more = new LinkedHashMap<Value, Value>();
        for (int i = 0; i < names.size(); i++) {
            if (!parameters.contains(names.get(i).chars())) {
                more.put(names.get(i), named.get(i));
            }
        }
        return new Value.Dict(more);
    }
}
