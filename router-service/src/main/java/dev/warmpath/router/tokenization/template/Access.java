package dev.warmpath.router.tokenization.template;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** {@code x.name}, {@code x[index]} and {@code x[start:stop:step]}. What is not there is Undefined, as in Jinja. */
final class Access {
    private Access() {}

    static Value attribute(Value base, String name, RenderContext context) {
        Operators.refuseUndefined(base, context);
        @Nullable Value found = switch (base) {
            case Value.Dict(Map<Value, Value> entries) -> entries.get(Text.trusted(name));
            case Value.Namespace(Map<String, Value> fields) -> fields.get(name);
            case Value.Loop loop -> loop.field(name);
            default -> null;
        };
        return found != null ? found : missing(base, name);
    }

    private static Value missing(Value base, String name) {
        return new Value.Undefined("'" + Operators.typeName(base) + "' has no attribute '" + name + "'");
    }

    static Value item(Value base, Value index, RenderContext context) {
        Operators.refuseUndefined(base, context);
        if (base instanceof Value.Dict(Map<Value, Value> entries)) {
            @Nullable Value found = entries.get(Operators.key(index, context));
            return found != null ? found : missing(base, PythonText.of(index, context).chars());
        }
        if (index instanceof Text name) {
            return attribute(base, name.chars(), context);
        }
        boolean indexed = base instanceof Text || base instanceof Value.Sequence;
        if (!indexed || !(index instanceof Value.Int || index instanceof Value.Bool)) {
            return missing(base, PythonText.of(index, context).chars());
        }
        int length = Operators.length(base, context);
        long at = Operators.integer(index, context);
        long place = at < 0 ? at + length : at;
        if (place < 0 || place >= length) {
            return missing(base, Long.toString(at));
        }
        return base instanceof Text text ? text.codePoints((int) place, (int) place + 1)
                : ((Value.Sequence) base).items().get((int) place);
    }

    static Value slice(Value base, @Nullable Value start, @Nullable Value stop, @Nullable Value step,
            RenderContext context) {
        Operators.refuseUndefined(base, context);
        if (!(base instanceof Text) && !(base instanceof Value.Sequence)) {
            throw context.wrong(Operators.typeName(base) + " cannot be sliced");
        }
        int length = Operators.length(base, context);
        long stride = Math.clamp(bound(step, 1, context), -Integer.MAX_VALUE, Integer.MAX_VALUE);
        if (stride == 0) {
            throw context.wrong("the step of a slice is zero");
        }
        boolean forwards = stride > 0;
        long from = clip(bound(start, forwards ? 0 : length - 1, context), start, length, forwards);
        long to = clip(bound(stop, forwards ? length : -1, context), stop, length, forwards);
        if (stride == 1 && base instanceof Text text) {
            context.chars(Math.max(0, to - from));
            return from < to ? text.codePoints((int) from, (int) to) : Text.EMPTY;
        }
        return pick(base, from, to, stride, context);
    }

    private static long bound(@Nullable Value value, long otherwise, RenderContext context) {
        return value == null || value instanceof Value.None ? otherwise : Operators.integer(value, context);
    }

    /** Python's rule for bounds outside the sequence; a bound that was not given is inside already. */
    private static long clip(long bound, @Nullable Value given, int length, boolean forwards) {
        if (given == null || given instanceof Value.None) {
            return bound;
        }
        long place = bound < 0 ? bound + length : bound;
        return forwards ? Math.clamp(place, 0, length) : Math.clamp(place, -1, length - 1);
    }

    private static Value pick(Value base, long from, long to, long stride, RenderContext context) {
        List<Value> items = Operators.items(base, context);
        var picked = new ArrayList<Value>();
        for (long i = from; stride > 0 ? i < to : i > to; i += stride) {
            context.steps(1);
            picked.add(items.get((int) i));
        }
        if (base instanceof Value.Sequence(List<Value> _, boolean tuple)) {
            return new Value.Sequence(picked, tuple);
        }
        var builder = new Text.Builder();
        picked.forEach(character -> builder.append((Text) character));
        return builder.build();
    }
}
