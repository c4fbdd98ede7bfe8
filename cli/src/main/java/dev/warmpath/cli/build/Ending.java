package dev.warmpath.cli.build;

import java.util.Deque;
import java.util.concurrent.ConcurrentLinkedDeque;

/**
 * What is to be done if a signal ends this program, as Ctrl-C does. It is done while the command's own thread still
 * runs, which is held wherever it might take notice of it: whose processes end then, they end as told.
 */
public final class Ending {

    private final Deque<Runnable> duties = new ConcurrentLinkedDeque<>();
    private volatile boolean isUnderWay;
    private volatile boolean isOver;

    /** Begins to listen for the end of this JVM. */
    public Ending() {
        Runtime.getRuntime().addShutdownHook(Thread.ofPlatform().unstarted(this::run));
    }

    /** Adds something to be done, before all that has been added earlier. */
    public void add(Runnable duty) {
        duties.push(duty);
        if (isUnderWay) {
            duty.run();
        }
    }

    public void remove(Runnable duty) {
        duties.remove(duty);
    }

    /** From now on this program ends by itself: nothing is to be done. */
    public void isOver() {
        isOver = true;
    }

    /** Returns only if no signal is ending this program. */
    public void pass() {
        while (isUnderWay) {
            try {
                Thread.sleep(Long.MAX_VALUE);
            } catch (InterruptedException e) {
                // nobody interrupts a command; the JVM ends when all is done
            }
        }
    }

    private void run() {
        if (!isOver) {
            isUnderWay = true;
            duties.forEach(Runnable::run);
        }
    }
}
