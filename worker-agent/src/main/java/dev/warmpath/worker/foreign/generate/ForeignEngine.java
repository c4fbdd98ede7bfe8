package dev.warmpath.worker.foreign.generate;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.GenerateRequest;
import dev.warmpath.worker.engine.GenerationListener;
import dev.warmpath.worker.engine.Generator;
import dev.warmpath.worker.engine.RefusedException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntConsumer;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A foreign engine in the place of our own: takes requests on, asks the engine for each answer, and tells what comes.
 *
 * <p>Several answers to one prompt are as many requests there, with the seeds seed, seed + 1 and so on: each can be
 * ended by itself, and by the engine's own cache the prompt is computed once. If the prompt's scores are asked for, the
 * first request brings these, and the others begin after it, for nothing may be told before them.
 *
 * <p>An engine that does not answer is asked nothing: whoever comes then is refused in a way that lets routers ask
 * another worker at once.
 */
public final class ForeignEngine implements Generator<ForeignGeneration>, AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(ForeignEngine.class);
    private static final long STOP_SECONDS = 2;

    private final EngineLink link;
    private final FoundEngine found;
    private final ForeignIntake intake;
    private final KnownCache cache;
    private final Runnable whenTold;
    private final EngineConnections connections;
    private final AliveGenerations alive;
    private final Turns turns;
    private final Counts counts = new Counts();
    private final EngineWatch watch;
    private volatile long heardNanos;
    /** One thing at a time: a prompt, or a whole answer, of each generation that was alive since it was idle. */
    private final ExecutorService aside = Executors.newSingleThreadExecutor(
            Thread.ofPlatform().daemon().name("foreign-answers").factory());
    private final AtomicBoolean closed = new AtomicBoolean();
    /** The event loop's own: it will be told at the end of this turn. */
    private boolean telling;

    /**
     * @param found                what the engine is
     * @param contextLength        most tokens of prompt and answer; 0 = as the engine says
     * @param vocabularySize       token ids are below it; 0 = not known
     * @param epoch                this life of engine and worker
     * @param cache                what it holds, asked on the submitter's thread
     * @param whenTold             called on the event loop after listeners were told something, once a turn
     * @param onRestart            called each time that the engine was started anew and is what it was, with an empty
     *                             cache
     * @param onAnother            called once, when the engine was started anew and is not what it was: another model,
     *                             cache or dialect
     */
    public ForeignEngine(EngineLink link, FoundEngine found, int contextLength, int vocabularySize, LongSupplier epoch,
            KnownCache cache, Runnable whenTold, Runnable onRestart, Runnable onAnother) {
        this.link = link;
        this.found = found;
        this.intake = new ForeignIntake(epoch, contextLength == 0 ? found.facts().contextLength() : contextLength,
                vocabularySize, found.dialect());
        this.cache = cache;
        this.whenTold = whenTold;
        this.alive = new AliveGenerations(link.mostGenerations());
        this.turns = new Turns(link.mostInFlight());
        this.connections = new EngineConnections(link);
        this.heardNanos = nanoTime() - TimeUnit.DAYS.toNanos(1);
        this.watch = new EngineWatch(link, found, alive::atEngine, () -> heardNanos, onRestart, () -> {
            giveUp(() -> { });                                         // another one's answers are not this one's
            onAnother.run();
        });
    }

    /** Begins to look how the engine is. */
    public ForeignEngine start() {
        watch.start();
        return this;
    }

    @Override
    public List<ForeignGeneration> submit(GenerateRequest request, List<GenerationListener> listeners) {
        try {
            return take(request, listeners);
        } catch (RefusedException e) {
            counts.countRefused(e.reason());
            throw e;
        }
    }

    private List<ForeignGeneration> take(GenerateRequest request, List<GenerationListener> listeners) {
        if (!watch.answers()) {
            throw new RefusedException(FailureReason.SHUTTING_DOWN, "the engine beside this worker does not answer");
        }
        alive.requireRoom(listeners.size());                           // before a prompt is written so many times
        List<Ask> asks = intake.accept(request, listeners.size());
        int cached = Math.clamp(cache.expectedTokens(request), 0, request.promptTokens().length - 1);
        var family = new ForeignGeneration.Family(cached);
        List<ForeignGeneration> generations = new ArrayList<>(asks.size());
        for (int i = 0; i < asks.size(); i++) {
            int expected = i == 0 ? request.promptTokens().length - cached : 1;
            generations.add(new ForeignGeneration(this, asks.get(i), listeners.get(i), family, expected));
        }
        alive.enter(generations);
        List<ForeignGeneration> followers = List.copyOf(generations.subList(1, generations.size()));
        if (asks.getFirst().promptScores()) {
            generations.getFirst().startBefore(followers);
            followers = List.of();
        }
        begin(generations.getFirst(), followers);
        return generations;
    }

    private void begin(ForeignGeneration leader, List<ForeignGeneration> followers) {
        onLoop(() -> {
            leader.start();
            followers.forEach(ForeignGeneration::start);
        });
    }

    @Override
    public void cancel(ForeignGeneration generation) {
        onLoop(generation::cancel);
    }

    @Override
    public void stop(ForeignGeneration generation) {
        onLoop(generation::stop);
    }

    @Override
    public int mostGenerations() {
        return link.mostGenerations();
    }

    @Override
    public RefusedException refuse(FailureReason reason, String message) {
        counts.countRefused(reason);
        return new RefusedException(reason, message);
    }

    void onLoop(Runnable task) {
        try {
            connections.loop().execute(task);
        } catch (RejectedExecutionException e) {
            log.debug("this worker has stopped, and with it all generations", e);
        }
    }

    /** How busy the engine is. */
    public ForeignLoad load() {
        EngineWatch.Seen seen = watch.seen();
        return new ForeignLoad(alive.load(seen.others(), seen.load().waiting()), seen.load().freeBlocks(),
                watch.answers());
    }

    public EngineFacts facts() {
        return found.facts();
    }

    public Counts counts() {
        return counts;
    }

    // of generations

    boolean isOutsideVocabulary(int token) {
        return intake.vocabularySize() > 0 && token >= intake.vocabularySize();
    }

    Dialect dialect() {
        return found.dialect();
    }

    /** On the event loop. */
    Turns turns() {
        return turns;
    }

    /** An engine that takes text has found another number of tokens in a prompt. */
    void readOtherwise(int tokens, int expected) {
        if (counts.countReadOtherwise() == 1) {
            log.warn("the server has read a prompt of {} tokens as one of {}: that happens, but if it does to most, "
                    + "its model is not that of warmpath.model.directory; "
                    + "warmpath_foreign_prompts_read_otherwise_total counts them", expected, tokens);
        }
    }

    EngineConnections connections() {
        return connections;
    }

    long nanoTime() {
        return System.nanoTime();
    }

    long longestSilenceNanos(boolean hasToken) {
        return (hasToken ? link.betweenTokens() : link.firstToken()).toNanos();
    }

    /** Something came from the engine. @return when */
    long heard() {
        heardNanos = nanoTime();
        return heardNanos;
    }

    /** Something should have come, and has not: the engine is looked at soon. */
    void suspect() {
        watch.lookNow();
    }

    void firstToken() {
        alive.firstToken();
    }

    void left(ForeignGeneration generation) {
        alive.leave(generation);
    }

    /** Not on the event loop: a prompt may be long. @param expected hears on the loop what is better known by now */
    void sent(GenerateRequest request, IntConsumer expected) {
        doAside(() -> {
            int tokens = cache.sent(request);
            if (tokens != KnownCache.AS_BEFORE) {
                onLoop(() -> expected.accept(tokens));
            }
        });
    }

    /** Does what would keep the event loop from all other answers. */
    void doAside(Runnable task) {
        aside.execute(task);
    }

    /** Listeners were told something: with what else comes in this turn, it is sent together. */
    void told() {
        if (!telling) {
            telling = true;
            onLoop(() -> {
                telling = false;
                whenTold.run();
            });
        }
    }

    /** Refuses new work and fails what is alive as {@link FailureReason#SHUTTING_DOWN}. Harmless twice. */
    @Override
    public void close() {
        if (closed.getAndSet(true)) {
            return;
        }
        watch.close();
        var done = new CountDownLatch(1);
        giveUp(done::countDown);
        try {
            done.await(STOP_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        aside.shutdownNow();
        connections.close();
    }

    /** @param then behind what those who are alive have told */
    private void giveUp(Runnable then) {
        List<ForeignGeneration> left = alive.close();
        onLoop(() -> {
            turns.close();                                             // nobody is sent because another one ends
            left.forEach(ForeignGeneration::shutDown);
            onLoop(then);
        });
    }
}
