package dev.warmpath.router.routing;

import com.fasterxml.jackson.annotation.JsonProperty;

/** Why a worker was chosen; the text of the {@code x-warmpath-decision} header. */
public enum RouteReason {
    /** No other worker could be. */
    @JsonProperty("only_one")
    ONLY_ONE("only_one"),
    /** Nobody holds more of the prompt. */
    @JsonProperty("prefix")
    PREFIX("prefix"),
    /** Its queue is short enough to make up for what another one has cached, or nobody holds any of it. */
    @JsonProperty("load")
    LOAD("load"),
    /** Several were as good; it was its turn. */
    @JsonProperty("turn")
    TURN("turn");

    private final String text;

    RouteReason(String text) {
        this.text = text;
    }

    public String text() {
        return text;
    }
}
