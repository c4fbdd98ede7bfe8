package dev.warmpath.router.routing;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The parts of a cost, by name, in the order that its policy gives them. The names are the policy's, shared by all
 * candidates; snake_case, since decisions are shown and logged with them. Immutable.
 */
public final class Terms {

    private final List<String> names;
    private final long[] values;

    /** @param names one for each value; kept, not copied. @param values likewise */
    public Terms(List<String> names, long... values) {
        if (names.size() != values.length) {
            throw new IllegalArgumentException(values.length + " values for " + names);
        }
        this.names = names;
        this.values = values;
    }

    /** @throws IllegalArgumentException if there is no term of this name */
    public long get(String name) {
        int index = names.indexOf(name);
        if (index < 0) {
            throw new IllegalArgumentException("no term '" + name + "' among " + names);
        }
        return values[index];
    }

    public long sum() {
        long sum = 0;
        for (long value : values) {
            sum += value;
        }
        return sum;
    }

    public Map<String, Long> asMap() {
        Map<String, Long> map = new LinkedHashMap<>();
        for (int i = 0; i < values.length; i++) {
            map.put(names.get(i), values[i]);
        }
        return map;
    }

    @Override
    public String toString() {
        return asMap().toString();
    }
}
