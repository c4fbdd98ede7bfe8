package dev.warmpath.router.routing;

import java.util.Arrays;

/**
 * How many requests of each worker there are, and how many of these the index does not know: a short list while few
 * workers have any, a place for each slot once there are more. The books' monitor guards it.
 */
final class WorkerCounts {

    private static final int MOST_LISTED = 8;
    private static final int[] NONE = {};

    /** Of the listed workers; empty once there is a place for each slot. */
    private int[] slots;
    /** By place in the list, or by slot. */
    private int[] running;
    private int[] promised;
    private int listed;

    WorkerCounts() {
        slots = new int[2];
        running = new int[2];
        promised = new int[2];
    }

    private WorkerCounts(WorkerCounts other) {
        slots = other.slots.length == 0 ? NONE : other.slots.clone();
        running = other.running.clone();
        promised = other.promised.clone();
        listed = other.listed;
    }

    WorkerCounts copy() {
        return new WorkerCounts(this);
    }

    void add(int slot, int runningMore, int promisedMore) {
        int place = placeFor(slot);
        running[place] += runningMore;
        promised[place] += promisedMore;
        if (slots.length > 0 && running[place] == 0 && promised[place] == 0) {
            listed--;
            slots[place] = slots[listed];
            running[place] = running[listed];
            promised[place] = promised[listed];
            running[listed] = 0;
            promised[listed] = 0;
        }
    }

    /** Requests of the worker that hold blocks there. */
    int running(int slot) {
        if (slots.length == 0) {
            return slot < running.length ? running[slot] : 0;
        }
        int place = listedAt(slot);
        return place < listed ? running[place] : 0;
    }

    /** Notes for every worker with requests, running or promised, how deep they share a prompt: deeper than before. */
    void reach(int blocks, int[] runningBlocks, int[] promisedBlocks) {
        if (slots.length > 0) {
            for (int i = 0; i < listed; i++) {
                runningBlocks[slots[i]] = running[i] > 0 ? blocks : runningBlocks[slots[i]];
                promisedBlocks[slots[i]] = promised[i] > 0 ? blocks : promisedBlocks[slots[i]];
            }
            return;
        }
        for (int slot = 0; slot < Math.min(running.length, runningBlocks.length); slot++) {
            runningBlocks[slot] = running[slot] > 0 ? blocks : runningBlocks[slot];
            promisedBlocks[slot] = promised[slot] > 0 ? blocks : promisedBlocks[slot];
        }
    }

    // ---- details

    private int listedAt(int slot) {
        int place = 0;
        while (place < listed && slots[place] != slot) {
            place++;
        }
        return place;
    }

    /** Makes room where there is none. */
    private int placeFor(int slot) {
        if (slots.length > 0) {
            int place = listedAt(slot);
            if (place < listed) {
                return place;
            }
            if (listed < MOST_LISTED) {
                return list(slot);
            }
            spread();
        }
        if (slot >= running.length) {
            int size = Math.max(slot + 1, 2 * running.length);
            running = Arrays.copyOf(running, size);
            promised = Arrays.copyOf(promised, size);
        }
        return slot;
    }

    private int list(int slot) {
        if (listed == slots.length) {
            slots = Arrays.copyOf(slots, 2 * listed);
            running = Arrays.copyOf(running, 2 * listed);
            promised = Arrays.copyOf(promised, 2 * listed);
        }
        slots[listed] = slot;
        return listed++;
    }

    private void spread() {
        int size = Arrays.stream(slots, 0, listed).max().orElse(0) + 1;
        int[] runningBySlot = new int[size];
        int[] promisedBySlot = new int[size];
        for (int i = 0; i < listed; i++) {
            runningBySlot[slots[i]] = running[i];
            promisedBySlot[slots[i]] = promised[i];
        }
        slots = NONE;
        running = runningBySlot;
        promised = promisedBySlot;
    }
}
