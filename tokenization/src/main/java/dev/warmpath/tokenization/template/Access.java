package dev.warmpath.tokenization.template;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * {@code x.name}, {@code x[index]} and {@code x[start:stop:step]}. What is not there is Undefined, as in Jinja. By a
 * dot, a method wins over a key of that name; in brackets, the key wins.
 */
final class Access {
    private Access() {}

    /** @param method of {@link Methods} by this name, or null */
    static Value attribute(Value base, String name, @Nullable Callee method, RenderContext context) {
        if (method != null && method.owns().test(base)) {
            return new Value.Method(base, method);
        }
        return field(base, name, context);
    }

    private static Value field(Value base, String name, RenderContext context) {
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
        return new Value.Undefined("'" + Operators.typeName(base) + "' has no attribute '" + shown(name) + "'");
    }

    private static String shown(String name) {
        return name.length() <= 100 ? name : name.substring(0, 100) + "…";
    }

    static Value item(Value base, Value index, RenderContext context) {
        Operators.refuseUndefined(base, context);
        if (base instanceof Value.Dict(Map<Value, Value> entries) && Operators.isKey(index)) {
            @Nullable Value found = entries.get(index);
            if (found != null) {
                return found;
            }
        }
        if (index instanceof Text name) {
            return attribute(base, name.chars(), Methods.named(name.chars()), context);
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
        if (base instanceof Text text) {
            context.chars(1);
            context.read(text.unitsToFindAPlace());
            return text.codePoints((int) place, (int) place + 1);
        }
        return ((Value.Sequence) base).items().get((int) place);
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
        if (base instanceof Text text) {
            context.chars(Math.max(0, to - from));
            context.read(text.unitsToFindAPlace());
            return stride != 1 ? pick(text, from, to, stride, context)
                    : from < to ? text.codePoints((int) from, (int) to) : Text.EMPTY.asMarkup(text.isMarkup());
        }
        return pick((Value.Sequence) base, from, to, stride, context);
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

    /** Lists do not change, so that most slices need no copy. */
    private static Value pick(Value.Sequence base, long from, long to, long stride, RenderContext context) {
        List<Value> items = base.items();
        if (stride > 0 ? from >= to : from <= to) {
            return new Value.Sequence(List.of(), base.tuple());
        }
        if (stride == 1) {
            return new Value.Sequence(items.subList((int) from, (int) to), base.tuple());
        }
        if (stride == -1) {
            return new Value.Sequence(items.subList((int) to + 1, (int) from + 1).reversed(), base.tuple());
        }
        var picked = new ArrayList<Value>();
        context.items(Math.ceilDiv(to - from, stride));
        for (long i = from; stride > 0 ? i < to : i > to; i += stride) {
            picked.add(items.get((int) i));
        }
        return new Value.Sequence(picked, base.tuple());
    }

    private static Text pick(Text text, long from, long to, long stride, RenderContext context) {
        int[] starts = new int[text.codePointCount() + 1];       // where each code point begins, and the end
        int at = 0;
        for (int i = 0; i < starts.length - 1; i++) {
            starts[i] = at;
            at += Character.charCount(text.chars().codePointAt(at));
        }
        starts[starts.length - 1] = at;
        context.read(8L * at);                                   // places are looked for one by one
        var builder = new Text.Builder();
        for (long i = from; stride > 0 ? i < to : i > to; i += stride) {
            builder.append(text, starts[(int) i], starts[(int) i + 1]);
        }
        return builder.build().asMarkup(text.isMarkup());
    }
}
