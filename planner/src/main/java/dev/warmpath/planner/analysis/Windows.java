package dev.warmpath.planner.analysis;

import java.util.ArrayList;
import java.util.List;

/** Shares over runs of as many requests each; when there are too many runs, two become one. */
final class Windows {

    static final int FIRST_REQUESTS = 1_000;
    private static final int MOST = 120;

    private final List<long[]> windows = new ArrayList<>();
    private long each = FIRST_REQUESTS;
    private long inLast;

    void add(long found, long of) {
        if (windows.isEmpty() || inLast == each) {
            if (windows.size() == MOST) {
                merge();
            }
            windows.add(new long[2]);
            inLast = 0;
        }
        windows.getLast()[0] += found;
        windows.getLast()[1] += of;
        inLast++;
    }

    private void merge() {
        for (int i = 0; i < MOST / 2; i++) {
            long[] first = windows.get(i);
            long[] second = windows.remove(i + 1);
            first[0] += second[0];
            first[1] += second[1];
        }
        each *= 2;
        inLast = each;
    }

    /** Of each window. */
    long requests() {
        return each;
    }

    /** Of all windows, the last one perhaps of fewer requests. */
    List<Double> shares() {
        return windows.stream().map(window -> window[1] == 0 ? 0 : (double) window[0] / window[1]).toList();
    }
}
