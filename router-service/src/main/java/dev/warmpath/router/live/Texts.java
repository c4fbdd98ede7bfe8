package dev.warmpath.router.live;

import java.util.HexFormat;
import java.util.Locale;

/** How names and keys are told. */
final class Texts {

    private Texts() {}

    static String lower(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }

    /** 16 hex digits. */
    static String key(long key) {
        return HexFormat.of().toHexDigits(key);
    }
}
