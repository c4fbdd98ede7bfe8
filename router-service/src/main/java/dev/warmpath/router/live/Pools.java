package dev.warmpath.router.live;

import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleetlink.stream.WorkerHttp;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

/** The pools that are followed now. Changed by one thread; others may ask. */
final class Pools implements AutoCloseable {

    /** More are not followed at a time, whoever watches. */
    static final int MAX_POOLS = 16;

    private final WorkerHttp http;
    private final JsonMapper json;
    private final Map<FleetWorker, PoolWatch> watches = new ConcurrentHashMap<>();
    /** Workers that have said that they have none, of those that are here. */
    private final Set<FleetWorker> without = ConcurrentHashMap.newKeySet();

    Pools(WorkerHttp http, JsonMapper json) {
        this.http = http;
        this.json = json;
    }

    /** Follows these and no others; of more than {@value #MAX_POOLS} the first. */
    void follow(Collection<FleetWorker> wanted) {
        Set<FleetWorker> now = wanted.stream().filter(each -> !each.isGone()).distinct().limit(MAX_POOLS)
                .collect(Collectors.toSet());
        watches.forEach((worker, watch) -> {
            if (watch.hasNone()) {
                without.add(worker);
            }
            if (!now.contains(worker)) {
                watch.close();
                watches.remove(worker);
            }
        });
        without.removeIf(FleetWorker::isGone);
        now.forEach(worker -> watches.computeIfAbsent(worker, each -> new PoolWatch(each, http, json)));
    }

    /** True if no further one would be followed. */
    boolean isFull() {
        return watches.size() >= MAX_POOLS;
    }

    @Nullable PoolWatch of(FleetWorker worker) {
        return watches.get(worker);
    }

    /** True if it has said that it has no pool to look at. */
    boolean hasNone(FleetWorker worker) {
        return without.contains(worker);
    }

    /** Null while nobody watches it. */
    @Nullable Boolean held(FleetWorker worker) {
        PoolWatch watch = watches.get(worker);
        return watch == null ? null : watch.held();
    }

    @Override
    public void close() {
        watches.values().forEach(PoolWatch::close);
        watches.clear();
    }
}
