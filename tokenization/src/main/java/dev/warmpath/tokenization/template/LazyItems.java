package dev.warmpath.tokenization.template;

import java.util.Collections;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What a generator of Python's makes of something: nothing is looked at before the first item is asked for. */
final class LazyItems implements Iterator<Value> {
    @FunctionalInterface
    interface Step {
        /** @return what comes in place of the item, or null for nothing */
        @Nullable Value apply(Value item);
    }

    private final Supplier<Iterator<Value>> source;
    private final RenderContext context;
    private final Step step;
    private @Nullable Iterator<Value> items;
    private @Nullable Value next;

    private LazyItems(Supplier<Iterator<Value>> source, RenderContext context, Step step) {
        this.source = source;
        this.context = context;
        this.step = step;
    }

    static Value of(Value source, RenderContext context, Step step) {
        return of(() -> source instanceof Value.Generator(Iterator<Value> others) ? others
                : Operators.items(source, context).iterator(), context, step);
    }

    static Value of(Supplier<Iterator<Value>> source, RenderContext context, Step step) {
        return new Value.Generator(new LazyItems(source, context, step));
    }

    static Value none() {
        return new Value.Generator(Collections.emptyIterator());
    }

    @Override
    public boolean hasNext() {
        context.enter();                                         // one may be made of the other, many times
        Iterator<Value> left = items;
        if (left == null) {
            left = source.get();
            items = left;
        }
        while (next == null && left.hasNext()) {
            next = step.apply(left.next());
        }
        context.leave();
        return next != null;
    }

    @Override
    public Value next() {
        if (!hasNext() || next == null) {
            throw new NoSuchElementException();
        }
        Value item = next;
        next = null;
        return item;
    }
}
