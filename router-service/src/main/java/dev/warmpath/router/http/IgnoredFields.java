package dev.warmpath.router.http;

import dev.warmpath.router.fields.Place;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.function.Consumer;
import org.springframework.http.HttpHeaders;

/** Fields of one body that nobody knows and that are not refused: the client is told of the first of them. */
final class IgnoredFields implements Consumer<Place> {

    static final String HEADER = "x-warmpath-ignored-fields";
    private static final int MAX_NAMED = 16;

    private final Set<String> places = new LinkedHashSet<>();

    @Override
    public void accept(Place place) {
        if (places.size() < MAX_NAMED) {
            places.add(place.toString().replaceAll("[^!-~]|,", "?"));
        }
    }

    void writeTo(HttpHeaders headers) {
        if (!places.isEmpty()) {
            headers.set(HEADER, String.join(", ", places));
        }
    }
}
