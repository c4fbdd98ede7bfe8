package dev.warmpath.tokenization.template;

import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import java.util.RandomAccess;

/**
 * A list with others behind it, which shares memory with the one that it begins with: {@code x = x + [y]} for each of
 * many messages, as templates gather what they have seen, copies nothing but each {@code y}. Never changes: what is
 * written behind its end is another list's. Of one rendering, hence of one thread.
 */
final class SumOfLists extends AbstractList<Value> implements RandomAccess {
    private final ArrayList<Value> shared;
    private final int size;

    private SumOfLists(ArrayList<Value> shared) {
        this.shared = shared;
        this.size = shared.size();
    }

    static List<Value> of(List<Value> left, List<Value> right, RenderContext context) {
        context.items(right.size());
        if (left instanceof SumOfLists sum && sum.size == sum.shared.size()) {
            sum.shared.addAll(right);
            return new SumOfLists(sum.shared);
        }
        context.items(left.size());
        var all = new ArrayList<>(left);
        all.addAll(right);
        return new SumOfLists(all);
    }

    @Override
    public Value get(int index) {
        if (index >= size) {
            throw new IndexOutOfBoundsException(index);
        }
        return shared.get(index);
    }

    @Override
    public int size() {
        return size;
    }
}
