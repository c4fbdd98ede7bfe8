package dev.warmpath.tokenization.template;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** What filters look at in an item: a dotted path of its attributes, or itself. */
final class Attributes {
    private Attributes() {}

    /**
     * @param path      {@code a.b.0}, an integer, or None: the item itself
     * @param otherwise in place of what is not there, or null
     */
    static UnaryOperator<Value> getter(Value path, @Nullable Value otherwise, RenderContext context) {
        List<Value> parts = parts(path, context);
        return item -> {
            Value value = item;
            for (Value part : parts) {
                context.steps(1);
                Value found = Access.item(value, part, context);
                value = found instanceof Value.Undefined && otherwise != null ? otherwise : found;
            }
            return value;
        };
    }

    /** The same, of strings without regard to case unless it is asked for. */
    static UnaryOperator<Value> sortKey(Value path, boolean caseSensitive, RenderContext context) {
        UnaryOperator<Value> getter = getter(path, null, context);
        return item -> {
            Value value = getter.apply(item);
            if (!(value instanceof Text text) || caseSensitive) {
                return value;
            }
            context.chars(text.chars().length());
            return Text.trusted(text.chars().toLowerCase(Locale.ROOT));
        };
    }

    private static List<Value> parts(Value path, RenderContext context) {
        if (path instanceof Value.None) {
            return List.of();
        }
        if (!(path instanceof Text names)) {
            return List.of(path);
        }
        context.chars(names.chars().length());
        var parts = new ArrayList<Value>();
        for (String part : names.chars().split("\\.", -1)) {
            parts.add(key(part));
        }
        return parts;
    }

    /** A number is an index. */
    static Value key(String written) {
        return isNumber(written) && written.length() < 10 ? new Value.Int(Integer.parseInt(written))
                : Text.trusted(written);
    }

    static boolean isNumber(String written) {
        return !written.isEmpty() && written.chars().allMatch(c -> c >= '0' && c <= '9');
    }
}
