package dev.warmpath.process;

import org.springframework.context.ApplicationEvent;

/**
 * To be published in a service's context, once at most, when what it found at its start is not so any more: it ends in
 * order, as if it was told to stop, and starts once more in the same process, as another life of itself. A start that
 * fails then ends the process.
 */
public final class BeginAnew extends ApplicationEvent {

    private static final long serialVersionUID = 1L;

    public BeginAnew(Object source) {
        super(source);
    }
}
