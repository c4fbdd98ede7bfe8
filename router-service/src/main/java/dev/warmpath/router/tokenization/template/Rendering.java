package dev.warmpath.router.tokenization.template;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One run of a template: walks its statements, holds its variables and its output. */
final class Rendering {
    private static final int FEW_TERMS = 16;

    private enum Flow { ON, BREAK, CONTINUE }

    private final RenderContext context;
    private Scope scope;
    private Text.Builder out;

    /** @param expectedChars about the length of the output */
    Rendering(Map<String, Value> variables, RenderContext context, int expectedChars) {
        this.context = context;
        out = new Text.Builder(expectedChars);
        scope = new Scope(null);
        variables.forEach(scope::set);
    }

    Text run(List<Statement> template) {
        runAll(template);
        return out.build();
    }

    private Flow runAll(List<Statement> statements) {
        for (Statement statement : statements) {
            context.enter();
            Flow flow = run(statement);
            context.leave();
            if (flow != Flow.ON) {
                return flow;
            }
        }
        return Flow.ON;
    }

    private Flow run(Statement statement) {
        switch (statement) {
            case Statement.PrintText(Text text) -> print(text);
            case Statement.Print(Expression.Arithmetic sum, _) when sum.operator().equals("+") -> printSum(sum);
            case Statement.Print(Expression value, int line) -> {
                context.at(line);
                print(PythonText.of(evaluate(value), context));
            }
            case Statement.If(var condition, var then, var otherwise) -> {
                return runAll(isTrue(condition) ? then : otherwise);
            }
            case Statement.For loop -> {
                return loop(loop);
            }
            case Statement.Set(var targets, var value, int line) -> {
                Value evaluated = evaluate(value);
                context.at(line);
                Operators.unpack(targets, evaluated, scope, context);
            }
            case Statement.SetField set -> setField(set);
            case Statement.SetBlock(String target, var body) -> scope.set(target, captured(new Scope(scope), body));
            case Statement.MacroDefinition macro -> scope.set(macro.name(), new Value.Macro(macro, scope));
            case Statement.Generation(var body) -> inside(new Scope(scope), body);
            case Statement.Break _ -> {
                return Flow.BREAK;
            }
            case Statement.Continue _ -> {
                return Flow.CONTINUE;
            }
        }
        return Flow.ON;
    }

    /**
     * {@code a + b + c}, which is how templates write a message: texts go to the output one by one, without a copy. All
     * are evaluated before the first two are added, so of several faults another one may be told than Jinja tells. Of more
     * than a few terms the first ones are a sum like any other, whose depth is bounded.
     */
    private void printSum(Expression.Arithmetic sum) {
        var terms = new ArrayList<Expression>();
        Expression rest = sum;
        while (terms.size() < FEW_TERMS
                && rest instanceof Expression.Arithmetic(String operator, var left, var right, _)
                && operator.equals("+")) {
            terms.add(right);
            rest = left;
        }
        terms.add(rest);
        List<Value> values = evaluateAll(terms.reversed());
        context.at(sum.line());
        if (values.stream().allMatch(Text.class::isInstance)) {
            values.forEach(value -> print((Text) value));
        } else {
            print(PythonText.of(values.stream().reduce((left, right) -> Arithmetic.apply("+", left, right, context))
                    .orElseThrow(), context));
        }
    }

    private void print(Text text) {
        context.output((long) out.length() + text.chars().length(), text.chars().length());
        out.append(text);
    }

    private Flow inside(Scope inner, List<Statement> body) {
        Scope outer = scope;
        scope = inner;
        Flow flow = runAll(body);
        scope = outer;
        return flow;
    }

    private Text captured(Scope inner, List<Statement> body) {
        Text.Builder outer = out;
        out = new Text.Builder();
        inside(inner, body);
        Text text = out.build();
        out = outer;
        return text;
    }

    private Flow loop(Statement.For loop) {
        context.at(loop.line());
        List<Value> items = Operators.items(evaluate(loop.items()), context);
        if (loop.filter() != null) {
            items = filtered(loop, loop.filter(), items);
        }
        if (items.isEmpty()) {
            return inside(new Scope(scope), loop.otherwise());
        }
        for (int i = 0; i < items.size(); i++) {
            var turn = new Scope(scope);
            turn.set("loop", new Value.Loop(items, i));
            Operators.unpack(loop.targets(), items.get(i), turn, context);
            if (inside(turn, loop.body()) == Flow.BREAK) {
                break;
            }
        }
        return Flow.ON;
    }

    private List<Value> filtered(Statement.For loop, Expression filter, List<Value> items) {
        var kept = new ArrayList<Value>();
        Scope outer = scope;
        for (Value item : items) {
            scope = new Scope(outer);
            Operators.unpack(loop.targets(), item, scope, context);
            if (isTrue(filter)) {
                kept.add(item);
            }
        }
        scope = outer;
        return kept;
    }

    private void setField(Statement.SetField set) {
        Value value = evaluate(set.value());
        context.at(set.line());
        if (!(scope.find(set.namespace()) instanceof Value.Namespace(Map<String, Value> fields))) {
            throw context.wrong("cannot assign attribute '" + set.field() + "': '" + set.namespace()
                    + "' is not a namespace");
        }
        fields.put(set.field(), value);
    }

    private boolean isTrue(Expression condition) {
        return Operators.truth(evaluate(condition));
    }

    private Value evaluate(Expression expression) {
        context.enter();
        Value value = switch (expression) {
            case Expression.Constant(Value constant) -> constant;
            case Expression.Name(String name) -> variable(name);
            case Expression.ListOf(var items, boolean tuple) -> new Value.Sequence(evaluateAll(items), tuple);
            case Expression.DictOf dict -> dict(dict);
            case Expression.Attribute(var base, String name, int line) -> {
                Value owner = evaluate(base);
                context.at(line);
                yield Access.attribute(owner, name, context);
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
            case Expression.MacroCall call -> macro(call);
        };
        context.leave();
        return value;
    }

    private Value variable(String name) {
        @Nullable Value value = scope.find(name);
        if (value != null) {
            return value;
        }
        return Builtins.FUNCTIONS.containsKey(name) ? new Value.Function(name)
                : new Value.Undefined("'" + name + "' is undefined");
    }

    private @Nullable Value optional(@Nullable Expression expression) {
        return expression == null ? null : evaluate(expression);
    }

    private List<Value> evaluateAll(List<Expression> expressions) {
        var values = new ArrayList<Value>(expressions.size());
        for (Expression expression : expressions) {
            values.add(evaluate(expression));
        }
        return values;
    }

    private Value dict(Expression.DictOf dict) {
        var entries = new LinkedHashMap<Value, Value>();
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
        Value target = call.target() == null ? Value.NONE : evaluate(call.target());
        var values = new ArrayList<@Nullable Value>(call.arguments().size());
        for (@Nullable Expression argument : call.arguments()) {
            values.add(argument == null ? null : evaluate(argument));
        }
        context.at(call.line());
        return call.callee().body().call(target, new Builtins.Arguments(values, call.names()), context);
    }

    private Value macro(Expression.MacroCall call) {
        List<Value> positional = evaluateAll(call.positional());
        List<Value> named = evaluateAll(call.named());
        context.at(call.line());
        if (!(scope.find(call.name()) instanceof Value.Macro(var definition, var definedIn))) {
            throw context.wrong("'" + call.name() + "' is undefined");
        }
        if (positional.size() > definition.parameters().size()
                || !definition.parameters().containsAll(call.names())) {
            throw context.wrong("the macro '" + call.name() + "' takes " + definition.parameters());
        }
        var arguments = new Scope(definedIn);
        Scope caller = scope;
        scope = arguments;
        for (int i = 0; i < definition.parameters().size(); i++) {
            String parameter = definition.parameters().get(i);
            int place = call.names().indexOf(parameter);
            @Nullable Expression otherwise = definition.defaults().get(i);
            arguments.set(parameter, i < positional.size() ? positional.get(i) : place >= 0 ? named.get(place)
                    : otherwise != null ? evaluate(otherwise)
                    : new Value.Undefined("parameter '" + parameter + "' was not provided"));
        }
        Text text = captured(arguments, definition.body());
        scope = caller;
        return text;
    }
}
