package dev.warmpath.router.routing;

/** Why a worker was chosen; the text of the {@code x-warmpath-decision} header. */
public enum RouteReason {
    /** No other worker could be. */
    ONLY_ONE("only_one"),
    /** Nobody holds more of the prompt. */
    PREFIX("prefix"),
    /** Its queue is short enough to make up for what another one has cached, or nobody holds any of it. */
    LOAD("load"),
    /** Several were as good; it was its turn. */
    TURN("turn"),
    /** The prompt's beginning or its conversation belongs there, by a policy that asks for nothing else. */
    AFFINITY("affinity"),
    /** It was ejected for failures or slowness, and this request tries out whether it has recovered. */
    TRIAL("trial");

    private final String text;

    RouteReason(String text) {
        this.text = text;
    }

    public String text() {
        return text;
    }
}
