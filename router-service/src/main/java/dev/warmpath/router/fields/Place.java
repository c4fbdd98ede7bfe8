package dev.warmpath.router.fields;

import org.jspecify.annotations.Nullable;

/**
 * Where a value stands in a body. Every value has one and few are ever said, so it is put into words only then:
 * {@code messages[2].content}.
 */
public final class Place {

    private final @Nullable Place outer;
    private final String name;
    private final int index;

    private Place(@Nullable Place outer, String name, int index) {
        this.outer = outer;
        this.name = name;
        this.index = index;
    }

    /** @param object where the object stands; null for the body itself */
    static Place of(@Nullable Place object, String field) {
        return new Place(object, field, -1);
    }

    /** Of a list that stands here, an element. */
    public Place element(int number) {
        return new Place(this, "", number);
    }

    /** Of an object that stands here, a field. */
    public Place field(String field) {
        return new Place(this, field, -1);
    }

    @Override
    public String toString() {
        String before = outer == null ? "" : outer.toString();
        return index >= 0 ? before + "[" + index + "]" : outer == null ? name : before + "." + name;
    }
}
