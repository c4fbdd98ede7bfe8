package dev.warmpath.cli.start;

/** A running engine, beside which a worker is to stand. */
public record Engine(String kind, String url) {

    /** @throws IllegalArgumentException in a sentence, if it is not KIND=URL */
    public static Engine of(String given) {
        if (!given.matches("(vllm|sglang|openai)=https?://.+")) {
            throw new IllegalArgumentException("--engine takes KIND=URL, such as vllm=http://127.0.0.1:8000, with "
                    + "vllm, sglang or openai, not '" + given + "'");
        }
        int equals = given.indexOf('=');
        return new Engine(given.substring(0, equals), given.substring(equals + 1));
    }

    @Override
    public String toString() {
        return kind + "=" + url;
    }
}
