package dev.warmpath.router.fields;

import dev.warmpath.router.completion.BadRequestException;
import dev.warmpath.router.completion.BadRequestException.Fault;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One JSON object of a request, as {@link FieldReader} has read it: of its table's fields those that are there, each of
 * its type and in its range.
 */
public final class FieldValues {

    /** Of a field that is there and asks for nothing. */
    private static final Object NOTHING = new Object();

    private final FieldTable table;
    private final @Nullable Place place;
    private final @Nullable Object[] values;

    /** @param place null for the body itself */
    FieldValues(FieldTable table, @Nullable Place place) {
        this.table = table;
        this.place = place;
        this.values = new Object[table.size()];
    }

    /** @param value null: none that counts @return false if the field has one */
    boolean set(FieldTable.Row row, @Nullable Object value) {
        boolean first = values[row.index()] == null;
        values[row.index()] = value == null ? NOTHING : value;
        return first;
    }

    public @Nullable String text(Field.Text field) {
        return (String) value(field);
    }

    public String requiredText(Field.Text field) {
        return required(field, text(field));
    }

    public boolean flag(Field.Flag field) {
        Boolean value = (Boolean) value(field);
        return value == null ? field.ifAbsent() : value;
    }

    public @Nullable Integer integer(Field.Whole field) {
        return (Integer) value(field);
    }

    public @Nullable Long integer(Field.Whole64 field) {
        return (Long) value(field);
    }

    public @Nullable Float number(Field.Real field) {
        return (Float) value(field);
    }

    /** Empty if there are none. Nobody else has the array. */
    public int[] ids(Field.Ids field) {
        int[] ids = (int[]) value(field);
        if (ids == null && field.absent().equals(Field.REQUIRED)) {
            throw missing(field);
        }
        return ids == null ? new int[0] : ids;
    }

    /** Empty if there are none. */
    @SuppressWarnings("unchecked")                                 // as its reading left it
    public List<String> texts(Field.Texts field) {
        List<String> texts = (List<String>) value(field);
        return texts == null ? List.of() : texts;
    }

    public @Nullable FieldValues object(Field.Nested field) {
        return (FieldValues) value(field);
    }

    /** One at least. */
    @SuppressWarnings("unchecked")                                 // as its reading left it
    public List<FieldValues> objects(Field.Several field) {
        return required(field, (List<FieldValues>) value(field));
    }

    public <T> T required(Field.Mixed<T> field) {
        return required(field, value(field));
    }

    @SuppressWarnings("unchecked")                                 // as its reading left it
    public <T> @Nullable T value(Field.Mixed<T> field) {
        return (T) value((Field) field);
    }

    /** Whether the field is there, with another value than null. */
    public boolean has(Field field) {
        return value(field) != null;
    }

    private @Nullable Object value(Field field) {
        Object value = values[table.row(field).index()];
        return value == NOTHING ? null : value;
    }

    private <T> T required(Field field, @Nullable T value) {
        if (value == null) {
            throw missing(field);
        }
        return value;
    }

    /** Where the field is in the body, for messages. */
    public String path(Field field) {
        return Place.of(place, field.name()).toString();
    }

    private BadRequestException missing(Field field) {
        return new BadRequestException(Fault.MISSING_VALUE, path(field), "'" + path(field) + "' is missing");
    }
}
