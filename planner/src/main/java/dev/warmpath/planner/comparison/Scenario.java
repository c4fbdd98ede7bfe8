package dev.warmpath.planner.comparison;

import dev.warmpath.planner.simulation.ServiceModel;
import dev.warmpath.planner.simulation.SimulatedFleet;
import dev.warmpath.workload.GeneratedLoad;
import dev.warmpath.workload.MooncakeTrace;
import dev.warmpath.workload.PooledCache;
import dev.warmpath.workload.Prompt;
import dev.warmpath.workload.Session;
import dev.warmpath.workload.Turn;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Objects;

/**
 * A load on a fleet whose caches hold a given share of all that is cached, together, and whose workers would be so busy
 * if they had one cache in common.
 *
 * @param name      of load, cache and utilisation
 * @param sessions  in order of time
 * @param settings  of the fleet
 * @param pooledHit share of full blocks that one cache of all the memory would find, see {@link PooledCache}
 */
public record Scenario(String name, List<Session> sessions, SimulatedFleet.Settings settings, double pooledHit) {

    private static final int MAX_BATCHED_TOKENS = 8_192;
    private static final int MAX_SEQUENCES = 256;
    private static final int CONTEXT_LENGTH = 262_144;
    private static final long EVENT_DELAY_MICROS = 5_000;
    private static final int LEAST_BLOCKS_FOR_PROMPTS = 2;
    private static final double NOMINAL_TOKEN_MICROS = 30_000;
    private static final int ROUNDS = 8;
    private static final ServiceModel SERVICE = ServiceModel.LARGE_ON_FOUR_CARDS;

    /**
     * A trace of Mooncake, laid over itself once for every four workers. The workers are made slower or quicker until
     * they are so busy: clients' pauses stay what they were.
     */
    public static Scenario of(MooncakeTrace trace, int workers, double cacheShare, double load, long seed) {
        List<Session> sessions = trace.overlaid(Math.max(1, workers / 4));
        List<Turn> turns = inOrder(sessions);
        int blocks = blocks(turns, workers, cacheShare);
        Pooled pooled = Pooled.of(turns, (long) blocks * workers);
        double now = pooled.workMicros / workers / sessions.getLast().startMicros();
        return new Scenario(name("trace", workers, cacheShare, load), sessions, settings(workers,
                MooncakeTrace.BLOCK_TOKENS, blocks, SERVICE.slower(load / now), seed), pooled.hit());
    }

    /** A generated load, with as many sessions a second as keep the workers so busy. */
    public static Scenario of(GeneratedLoad load, int sessionCount, int workers, double cacheShare, double utilisation,
            long seed) {
        // how often sessions begin decides what is still cached for their next turns, and that how many can be served
        double perSecond = workers;
        int blocks = 0;
        Pooled pooled = null;
        for (int round = 0; round < ROUNDS; round++) {
            List<Turn> turns = inOrder(load.sessions(sessionCount, perSecond, seed));
            blocks = blocks(turns, workers, cacheShare);
            pooled = Pooled.of(turns, (long) blocks * workers);
            perSecond = Math.sqrt(perSecond * utilisation * workers * 1e6 * sessionCount / pooled.workMicros);
        }
        return new Scenario(name(load.name().toLowerCase(Locale.ROOT), workers, cacheShare, utilisation),
                load.sessions(sessionCount, perSecond, seed),
                settings(workers, GeneratedLoad.PIECE, blocks, SERVICE, seed), Objects.requireNonNull(pooled).hit());
    }

    private static String name(String load, int workers, double cacheShare, double utilisation) {
        return "%s, %d workers, cache %.0f %%, load %.2f".formatted(load, workers, 100 * cacheShare, utilisation);
    }

    private static SimulatedFleet.Settings settings(int workers, int blockSize, int blocks, ServiceModel service,
            long seed) {
        return new SimulatedFleet.Settings(workers, 1, blockSize, blocks, MAX_BATCHED_TOKENS, MAX_SEQUENCES,
                CONTEXT_LENGTH, service, EVENT_DELAY_MICROS, seed);
    }

    /** As they come if an answer takes so long for each of its tokens. */
    private static List<Turn> inOrder(List<Session> sessions) {
        record Timed(double micros, Turn turn) {}
        List<Timed> timed = new ArrayList<>();
        for (Session session : sessions) {
            double micros = session.startMicros();
            for (int i = 0; i < session.turns().size(); i++) {
                Turn turn = session.turns().get(i);
                micros += i == 0 ? 0 : session.thinkMicros()[i - 1];
                timed.add(new Timed(micros, turn));
                micros += turn.answerTokens() * NOMINAL_TOKEN_MICROS;
            }
        }
        timed.sort(Comparator.comparingDouble(Timed::micros));
        return timed.stream().map(Timed::turn).toList();
    }

    /** Of each worker, and no fewer than the longest of all sequences needs, twice. */
    private static int blocks(List<Turn> turns, int workers, double cacheShare) {
        var all = new PooledCache(Long.MAX_VALUE);
        int longest = 0;
        for (Turn turn : turns) {
            all.use(turn);
            longest = Math.max(longest, Math.ceilDiv(turn.prompt().length() + turn.answerTokens(),
                    turn.prompt().pieceTokens()));
        }
        return Math.max(LEAST_BLOCKS_FOR_PROMPTS * longest, (int) Math.ceil(all.size() * cacheShare / workers));
    }

    private record Pooled(double workMicros, long blocks, long cachedBlocks) {

        static Pooled of(List<Turn> turns, long capacity) {
            var cache = new PooledCache(capacity);
            double work = 0;
            long blocks = 0;
            long cached = 0;
            for (Turn turn : turns) {
                Prompt prompt = turn.prompt();
                int held = cache.use(turn);
                blocks += prompt.length() / prompt.pieceTokens();
                cached += held / prompt.pieceTokens();
                work += SERVICE.stepMicros() + SERVICE.promptMicros(prompt.length(), prompt.length() - held)
                        + turn.answerTokens() * (SERVICE.rowMicros()
                                + SERVICE.contextTokenNanos() / 1e3 * prompt.length());
            }
            return new Pooled(work, blocks, cached);
        }

        double hit() {
            return (double) cachedBlocks / blocks;
        }
    }
}
