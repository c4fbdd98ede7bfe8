package dev.warmpath.tokenization.template;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One run of a template: walks its statements and holds its output. {@link Evaluation} knows its variables. */
final class Rendering {
    private static final int FEW_TERMS = 16;

    private enum Flow { ON, BREAK, CONTINUE }

    private final RenderContext context;
    private final Evaluation evaluation;
    private Text.Builder out;

    /** @param expectedChars about the length of the output */
    Rendering(Map<String, Value> variables, RenderContext context, int expectedChars) {
        this.context = context;
        out = new Text.Builder(expectedChars);
        var scope = new Scope(null);
        variables.forEach(scope::set);
        evaluation = new Evaluation(context, scope, this::captured);
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
                print(PythonText.of(evaluation.evaluate(value), context));
            }
            case Statement.If(var condition, var then, var otherwise) -> {
                return runAll(evaluation.isTrue(condition) ? then : otherwise);
            }
            case Statement.For loop -> {
                return loop(loop);
            }
            case Statement.Set(var targets, var value, int line) -> {
                Value evaluated = evaluation.evaluate(value);
                context.at(line);
                Operators.unpack(targets, evaluated, evaluation.scope(), context);
            }
            case Statement.SetField set -> setField(set);
            case Statement.Captured(var body, var then) -> {
                evaluation.scope().set(Statement.BLOCK, captured(new Scope(evaluation.scope()), body));
                return run(then);
            }
            case Statement.With with -> {
                return with(with);
            }
            case Statement.MacroDefinition macro ->
                evaluation.scope().set(macro.name(), new Value.Macro(macro, evaluation.scope()));
            case Statement.CallBlock(var block, var call) ->
                print(PythonText.of(evaluation.call(call, new Value.Macro(block, evaluation.scope())), context));
            case Statement.Generation(var body) -> {
                return inside(new Scope(evaluation.scope()), body);
            }
            case Statement.Break _ -> {
                return Flow.BREAK;
            }
            case Statement.Continue _ -> {
                return Flow.CONTINUE;
            }
            case Statement.Fail(var failure) -> evaluation.evaluate(failure);
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
        List<Value> values = evaluation.evaluateAll(terms.reversed());
        context.at(sum.line());
        if (values.stream().allMatch(value -> value instanceof Text text && !text.isMarkup())) {
            values.forEach(value -> print((Text) value));
        } else {
            print(PythonText.of(values.stream().reduce((left, right) -> Arithmetic.apply("+", left, right, context))
                    .orElseThrow(), context));
        }
    }

    private void print(Text text) {
        context.output((long) out.length() + text.chars().length(), text);
        out.append(text);
    }

    private Flow inside(Scope inner, List<Statement> body) {
        Scope outer = evaluation.enter(inner);
        Flow flow = runAll(body);
        evaluation.enter(outer);
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

    private Flow with(Statement.With with) {
        var inner = new Scope(evaluation.scope());
        for (int i = 0; i < with.targets().size(); i++) {
            inner.set(with.targets().get(i), evaluation.evaluate(with.values().get(i)));
        }
        return inside(inner, with.body());
    }

    private Flow loop(Statement.For loop) {
        context.at(loop.line());
        List<Value> all = Operators.items(evaluation.evaluate(loop.items()), context);
        if (loop.filter() == null) {
            return loop(loop, all);
        }
        List<Value> kept = filtered(loop, loop.filter(), all);
        Flow flow = loop(loop, kept);
        context.forget(kept.size());
        return flow;
    }

    private Flow loop(Statement.For loop, List<Value> items) {
        if (items.isEmpty()) {
            return inside(new Scope(evaluation.scope()), loop.otherwise());
        }
        for (int i = 0; i < items.size(); i++) {
            var turn = new Scope(evaluation.scope());
            turn.set("loop", new Value.Loop(items, i));
            context.at(loop.line());
            Operators.unpack(loop.targets(), items.get(i), turn, context);
            if (inside(turn, loop.body()) == Flow.BREAK) {
                break;
            }
        }
        return Flow.ON;
    }

    private List<Value> filtered(Statement.For loop, Expression filter, List<Value> items) {
        var kept = new ArrayList<Value>();
        Scope outer = evaluation.scope();
        for (Value item : items) {
            var turn = new Scope(outer);
            evaluation.enter(turn);
            Operators.unpack(loop.targets(), item, turn, context);
            if (evaluation.isTrue(filter)) {
                context.items(1);
                kept.add(item);
            }
        }
        evaluation.enter(outer);
        return kept;
    }

    private void setField(Statement.SetField set) {
        Value value = evaluation.evaluate(set.value());
        context.at(set.line());
        @Nullable Value namespace = evaluation.scope().find(set.namespace());
        if (!(namespace instanceof Value.Namespace(Map<String, Value> fields))) {
            throw context.wrong("cannot assign attribute '" + set.field() + "': '" + set.namespace()
                    + "' is not a namespace");
        }
        fields.put(set.field(), value);
    }
}
