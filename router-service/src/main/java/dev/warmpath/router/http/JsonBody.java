package dev.warmpath.router.http;

import dev.warmpath.router.completion.BadRequestException;
import dev.warmpath.router.fields.Field;
import dev.warmpath.router.fields.FieldReader;
import dev.warmpath.router.fields.FieldTable;
import dev.warmpath.router.fields.FieldValues;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A request's body, which has come as a whole and is not read yet. */
public final class JsonBody {

    private final byte[] bytes;
    private final int length;
    private final BodyLimits.Limit limit;
    private final @Nullable IgnoredFields ignored;

    /** @param ignored is told of fields that nobody knows; null: they are refused */
    JsonBody(byte[] bytes, int length, BodyLimits.Limit limit, @Nullable IgnoredFields ignored) {
        this.bytes = bytes;
        this.length = length;
        this.limit = limit;
        this.ignored = ignored;
    }

    /** @throws BadRequestException if it is no JSON object of these fields, or more than is read */
    public FieldValues read(FieldTable table) {
        return parsed(json -> json.body(table));
    }

    /** Whether it has this field, with another value than null: where the fields depend on it. */
    public boolean has(Field field) {
        return parsed(json -> json.bodyHas(field));
    }

    private <T> T parsed(Function<FieldReader, T> reading) {
        return limit.parse(bytes, length, ignored, reading);
    }
}
