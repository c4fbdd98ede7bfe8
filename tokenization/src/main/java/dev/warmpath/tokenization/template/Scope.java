package dev.warmpath.tokenization.template;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Variables of the template, of one turn of a loop or of one macro call; what is not here is looked up outside. */
final class Scope {
    private final @Nullable Scope outer;
    private final Map<String, Value> variables = new HashMap<>();

    Scope(@Nullable Scope outer) {
        this.outer = outer;
    }

    @Nullable Value find(String name) {
        for (Scope scope = this; scope != null; scope = scope.outer) {
            Value value = scope.variables.get(name);
            if (value != null) {
                return value;
            }
        }
        return null;
    }

    void set(String name, Value value) {
        variables.put(name, value);
    }
}
