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

    private final Map<String, Row> rows = new LinkedHashMap<>();

    /** @param index from 0, in the table's order */
    record Row(Field field, int index) {}

    private FieldTable(Collection<? extends Field> fields) {
        for (Field field : fields) {
            if (rows.put(field.name(), new Row(field, rows.size())) != null) {
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
        return rows.values().stream().map(Row::field).toList();
    }

    int size() {
        return rows.size();
    }

    @Nullable Row named(String name) {
        return rows.get(name);
    }

    /** @throws IllegalArgumentException if it is no field of this table */
    Row row(Field field) {
        Row row = rows.get(field.name());
        if (row == null || row.field() != field) {
            throw new IllegalArgumentException("'" + field.name() + "' is not in the table");
        }
        return row;
    }
}
