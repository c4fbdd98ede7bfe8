package dev.warmpath.router.fleet;

import dev.warmpath.router.fleet.WorkerView.State;
import dev.warmpath.router.models.Revision;
import dev.warmpath.router.models.ServedModel;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Who is in the fleet, and who of them takes requests, as of the fleet's last change. Built once for each, under the
 * fleet's lock; read by every request, without it and without a copy.
 *
 * @param everyone  in order of joining
 * @param models    every revision with a ready worker
 * @param known     names of models that workers have brought, served or not
 * @param ready     ready workers by revision, be it loaded or not
 * @param unready   the others, likewise
 * @param sequences how many requests the ready workers compute at the same time
 */
record Roster(List<FleetWorker> everyone, List<ServedModel> models, Set<String> known,
        Map<String, List<FleetWorker>> ready, Map<String, List<UnreadyWorker>> unready, long sequences) {

    static final Roster EMPTY = new Roster(List.of(), List.of(), Set.of(), Map.of(), Map.of(), 0);

    static Roster of(Collection<FleetWorker> workers, Collection<Revision> revisions) {
        Map<String, List<FleetWorker>> ready = new HashMap<>();
        Map<String, List<UnreadyWorker>> unready = new HashMap<>();
        long sequences = 0;
        for (FleetWorker worker : workers) {
            State state = worker.state();
            if (state == State.READY) {
                ready.computeIfAbsent(worker.revision(), _ -> new ArrayList<>()).add(worker);
                sequences += worker.maxSequences();
            } else {
                unready.computeIfAbsent(worker.revision(), _ -> new ArrayList<>())
                        .add(new UnreadyWorker(worker.id(), state));
            }
        }
        ready.replaceAll((_, those) -> List.copyOf(those));
        unready.replaceAll((_, those) -> List.copyOf(those));
        List<ServedModel> models = new ArrayList<>();
        Set<String> known = new HashSet<>();
        for (Revision revision : revisions) {
            known.add(revision.description().name());
            ServedModel model = revision.model();
            if (model != null && ready.containsKey(model.revision())) {
                models.add(model);
            }
        }
        return new Roster(List.copyOf(workers), List.copyOf(models), Set.copyOf(known), Map.copyOf(ready),
                Map.copyOf(unready), sequences);
    }

    List<FleetWorker> ready(String revision) {
        return ready.getOrDefault(revision, List.of());
    }

    List<UnreadyWorker> unready(String revision) {
        return unready.getOrDefault(revision, List.of());
    }
}
