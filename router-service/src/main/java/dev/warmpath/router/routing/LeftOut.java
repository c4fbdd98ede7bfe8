package dev.warmpath.router.routing;

import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.UnreadyWorker;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * The workers of the model's revision that could not be chosen. One whose lease has ended is not known any more.
 *
 * @param count   how many
 * @param workers those that are kept
 */
public record LeftOut(int count, List<Worker> workers) {

    public static final LeftOut NOBODY = new LeftOut(0, List.of());

    public record Worker(String id, Reason reason) {}

    /** Why it could not be. */
    public enum Reason {
        /** It has failed this request before. */
        EXCLUDED("excluded"),
        /** What it holds is not known yet. */
        JOINING("joining"),
        /** It goes, or an operator wants it to get nothing. */
        DRAINING("draining"),
        /** Its device has been at one step for too long. */
        HANGING("hanging"),
        /** It would pass over what the request asks of the logits. */
        OUTDATED("outdated");

        private final String text;

        Reason(String text) {
            this.text = text;
        }

        public String text() {
            return text;
        }
    }

    /**
     * @param unable   that would not answer as the request wants
     * @param excluded ids of workers that have failed the request, gone or not
     * @param most     to be kept
     */
    static LeftOut of(Set<String> excluded, List<UnreadyWorker> unready, List<FleetWorker> unable, int most) {
        if (excluded.isEmpty() && unready.isEmpty() && unable.isEmpty()) {
            return NOBODY;
        }
        List<Worker> kept = new ArrayList<>();
        excluded.stream().limit(most).forEach(id -> kept.add(new Worker(id, Reason.EXCLUDED)));
        int count = excluded.size();
        for (UnreadyWorker each : unready) {
            if (!excluded.contains(each.id())) {
                count++;
                if (kept.size() < most) {
                    kept.add(new Worker(each.id(), reason(each)));
                }
            }
        }
        for (FleetWorker each : unable) {
            if (!excluded.contains(each.id())) {
                count++;
                if (kept.size() < most) {
                    kept.add(new Worker(each.id(), Reason.OUTDATED));
                }
            }
        }
        return new LeftOut(count, List.copyOf(kept));
    }

    private static Reason reason(UnreadyWorker worker) {
        return switch (worker.state()) {
            case DRAINING -> Reason.DRAINING;
            case HANGING -> Reason.HANGING;
            case JOINING -> Reason.JOINING;
            case READY -> throw new IllegalArgumentException(worker.id() + " is ready");
        };
    }
}
