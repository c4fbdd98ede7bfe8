package dev.warmpath.router.fields;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** All fields that an object may have; no name twice. In the order in which they are shown. */
public final class FieldTable {

    private final Map<String, Field> fields = new LinkedHashMap<>();

    private FieldTable(Collection<? extends Field> fields) {
        for (Field field : fields) {
            if (this.fields.put(field.name(), field) != null) {
                throw new IllegalArgumentException("'" + field.name() + "' is in the table twice");
            }
        }
    }

    public static FieldTable of(Field... fields) {
        return new FieldTable(Arrays.asList(fields));
    }

    /** These and the other table's. */
    public FieldTable and(FieldTable others) {
        List<Field> all = new ArrayList<>(fields());
        all.addAll(others.fields());
        return new FieldTable(all);
    }

    public Collection<Field> fields() {
        return fields.values();
    }

    @Nullable Field named(String name) {
        return fields.get(name);
    }
}
