package dev.warmpath.worker.foreign.generate;

import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent.Usage;
import dev.warmpath.worker.engine.GenerationListener;
import dev.warmpath.worker.engine.GenerationTimes;
import io.netty.buffer.ByteBuf;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import reactor.core.Disposable;
import tools.jackson.core.JacksonException;

/**
 * One answer of a foreign engine, from the request to its end; the submitter's handle for ending it. Everything that
 * changes, changes on the event loop.
 *
 * <p>What counts as its end is a finish reason, nothing else: a stream that is closed, or says that it is done, without
 * one has failed. Usage comes behind it, and is waited for. The connection is tried once more if it broke before
 * anything came, for the engine hangs up idle ones at times, just as the next request is sent. An engine may have been
 * given as many requests as it takes: then this one waits for its {@link Turns turn} before all of that.
 *
 * <p>An answer has ended well when it has a token that ends it, whether or not the engine has heard of that, and badly
 * when it is longer than it may be.
 */
public final class ForeignGeneration {

    private static final Logger log = LoggerFactory.getLogger(ForeignGeneration.class);
    private static final int OK = 200;
    private static final int NO_STATUS = 0;
    private static final int MOST_BYTES_OF_AN_ERROR = 64 << 10;
    /** An engine that has ended its answer may say so much longer what belongs to it; usually that is nothing. */
    private static final int LAST_WORDS_SECONDS = 5;
    private static final byte[] DONE = {'[', 'D', 'O', 'N', 'E', ']'};

    private final ForeignEngine engine;
    private final Ask ask;
    private final GenerationListener listener;
    private final Family family;
    private final int expectedTokens;
    private final long submittedNanos;
    private List<ForeignGeneration> followers = List.of();
    private byte @Nullable [] body;

    /** It waits here for its turn at the engine; read by others, for the load. */
    private volatile boolean queued;
    private long sentNanos = GenerationTimes.NEVER;
    private @Nullable Disposable exchange;
    private @Nullable ScheduledFuture<?> alarm;
    private AnswerBytes answer;
    private int status = NO_STATUS;
    private boolean retried;
    private boolean over;
    private @Nullable FinishReason end;
    /** The engine itself has said so: its connection can be used again. */
    private boolean engineEnded;
    private long newsNanos;
    private long firstTokenNanos = GenerationTimes.NEVER;
    /** Read by others, for the load. */
    private volatile int told;

    /**
     * All answers to one prompt. Of that, cached was what the first of them found: the others find what was computed
     * for it, so it is the fewest that any has told; before that, or if the engine does not tell, what was expected.
     */
    static final class Family {

        private int expected;
        private int fewest = Integer.MAX_VALUE;
        private boolean sent;

        Family(int expected) {
            this.expected = expected;
        }

        /** True once. */
        boolean isFirstSent() {
            boolean isFirst = !sent;
            sent = true;
            return isFirst;
        }

        void expect(int cached) {
            expected = cached;
        }

        void told(int cached) {
            fewest = Math.min(fewest, cached);
        }

        int cachedTokens() {
            return fewest == Integer.MAX_VALUE ? expected : fewest;
        }
    }

    /** @param expectedTokens of the prompt that the engine probably has to compute */
    ForeignGeneration(ForeignEngine engine, Ask ask, GenerationListener listener, Family family, int expectedTokens) {
        this.engine = engine;
        this.ask = ask;
        this.listener = listener;
        this.family = family;
        this.expectedTokens = expectedTokens;
        this.submittedNanos = engine.nanoTime();
        this.newsNanos = submittedNanos;
        this.answer = newAnswer();
        this.body = engine.dialect().body(ask);                        // on the submitter's thread: a prompt is long
    }

    private AnswerBytes newAnswer() {
        return new AnswerBytes(engine.dialect().streams(ask), engine.dialect().mostBytes(ask), this::read);
    }

    // what the load tells of it, on any thread

    @Nullable RouterId router() {
        return ask.request().router();
    }

    boolean isPending() {
        return told == 0;
    }

    /** It waits here for its turn at the engine. */
    boolean isQueued() {
        return queued;
    }

    /** Prompt tokens that still have to be computed. */
    int pendingTokens() {
        return isPending() ? expectedTokens : 0;
    }

    int contextTokens() {
        return ask.promptLength() + told;
    }

    /** Before anything else: these begin when this one has told what the prompt was, or is over. */
    void startBefore(List<ForeignGeneration> others) {
        followers = others;
    }

    // on the event loop from here on

    /** Sent when there is room at the engine. */
    void start() {
        if (over) {
            return;
        }
        if (engine.turns().take(this)) {
            send();
        } else {
            queued = true;
            watch();
        }
    }

    /** It has its turn. */
    void send() {
        if (!over) {
            sentNanos = engine.nanoTime();
            newsNanos = sentNanos;
            queued = false;
            if (family.isFirstSent()) {
                engine.sent(ask.request(), family::expect);
            }
            post();
            watch();
        }
    }

    private void post() {
        if (!over && body != null) {
            Dialect dialect = engine.dialect();
            exchange = engine.connections().post(dialect.path(), body, dialect.takesRequestId() ? ask.id() : null,
                    new Heard());
        }
    }

    /** Nobody waits for it any more. */
    void cancel() {
        if (!over) {
            engine.counts().countCancelled();
            leave();
        }
    }

    /** Ends it with what was told. */
    void stop() {
        if (!over) {
            finish(end == null ? FinishReason.STOP : end);
        }
    }

    void shutDown() {
        fail(new EngineFailure(FailureReason.SHUTTING_DOWN, "this worker is going away"));
    }

    /** What comes on its connection. */
    private final class Heard implements EngineConnections.Answer {

        @Override
        public void onStatus(int code) {
            status = code;
            body = null;                                               // it is not sent again
            if (code != OK) {
                answer = new AnswerBytes(/* byEvents */ false, MOST_BYTES_OF_AN_ERROR, (_, _, _) -> { });
            }
        }

        @Override
        public void onBytes(ByteBuf bytes) {
            if (over) {
                return;                                                // read to its end, so that the connection lasts
            }
            newsNanos = engine.heard();
            try {
                answer.add(bytes);
            } catch (UnreadableAnswerException e) {
                fail(unreadable(e));
            } catch (RuntimeException e) {
                log.warn("a listener failed, its generation is given up: {}", ask.id(), e);
                fail(EngineFailure.of("the generation could not be told"));
            }
        }

        @Override
        public void onComplete() {
            if (over) {
                return;
            }
            if (status != OK) {
                fail(EngineFailure.ofStatus(status, answer.rest(), Dialect.JSON));
                return;
            }
            if (engine.dialect().streams(ask)) {
                conclude("its answer ended without a finish reason");
            } else {
                byte[] whole = answer.rest();
                engine.doAside(() -> readWhole(whole));
            }
        }

        @Override
        public void onBroken(Throwable cause) {
            if (over) {
                return;
            }
            boolean isUnreachable = isUnreachable(cause);
            if (status == NO_STATUS && !retried && !isUnreachable) {
                retried = true;
                answer = newAnswer();
                engine.connections().loop().execute(ForeignGeneration.this::post);
                return;
            }
            conclude(isUnreachable ? "it cannot be reached" : "its connection broke: " + cause.getMessage());
        }
    }

    private static boolean isUnreachable(Throwable cause) {
        for (Throwable e = cause; e != null; e = e.getCause()) {
            if (e instanceof ConnectException || e instanceof UnknownHostException) {
                return true;
            }
        }
        return false;
    }

    private void read(byte[] bytes, int from, int length) throws UnreadableAnswerException {
        if (over) {
            return;
        }
        if (Arrays.equals(bytes, from, from + length, DONE, 0, DONE.length)) {
            conclude("its answer was done without a finish reason");
        } else {
            take(chunk(bytes, from, length, told));
        }
    }

    private Chunk chunk(byte[] bytes, int from, int length, int toldBefore) throws UnreadableAnswerException {
        try {
            int kept = PromptEcho.cut(bytes, from, length);
            return engine.dialect().read(Dialect.JSON.readTree(bytes, from, kept), ask, toldBefore);
        } catch (JacksonException e) {
            throw new UnreadableAnswerException("it sent what is no JSON: " + e.getOriginalMessage());
        }
    }

    /** Not on the event loop: an answer with all scores of a prompt may have tens of megabytes. */
    private void readWhole(byte[] whole) {
        try {
            Chunk chunk = chunk(whole, 0, whole.length, /* toldBefore */ 0);
            engine.onLoop(() -> takeWhole(chunk));
        } catch (UnreadableAnswerException e) {
            engine.onLoop(() -> fail(unreadable(e)));
        }
    }

    private void takeWhole(Chunk chunk) {
        if (!over) {
            take(chunk);
            conclude("its answer has no finish reason");
        }
    }

    private void take(Chunk chunk) {
        if (chunk.failure() != null) {
            fail(chunk.failure());
            return;
        }
        for (Scored scored : chunk.prompt()) {
            listener.onPrompt(scored);
        }
        if (end == null) {
            takeTokens(chunk);
        }
        if (chunk.usage() != null && !over) {
            takeUsage(chunk.usage());
        }
        engine.told();
    }

    private void takeTokens(Chunk chunk) {
        int[] ids = chunk.ids();
        boolean isLonger = ids.length > ask.maxTokens() - told;
        if (isLonger && engine.dialect().tellsIds()) {
            fail(EngineFailure.of("the engine told " + ((long) told + ids.length) + " tokens, at most "
                    + ask.maxTokens() + " were asked for"));
            return;
        }
        if (isLonger) {
            ids = Arrays.copyOf(ids, ask.maxTokens() - told);          // the engine counts tokens of its own
        }
        for (int id : ids) {
            if (engine.isOutsideVocabulary(id)) {
                fail(EngineFailure.of("the engine told token " + id + ", which is none of the vocabulary that routers "
                        + "were given: its model is another one"));
                return;
            }
        }
        if (ids.length > 0 && told == 0) {
            firstTokenNanos = newsNanos;
            engine.firstToken();
            watch();                                                   // from now on, silence may be shorter
        }
        for (int i = 0; i < ids.length && !over; i++) {
            told++;                                                    // the load knows before anybody is told
            if (chunk.scores().isEmpty()) {
                listener.onToken(ids[i], Float.NaN);
            } else {
                listener.onToken(ids[i], chunk.scores().get(i));
            }
            if (told >= ask.request().stop().minTokens() && ask.request().stop().stopsAt(ids[i])) {
                end = FinishReason.STOP;
                if (chunk.end() == null) {
                    finish(FinishReason.STOP);                         // this engine goes on
                }
                engineEnded = chunk.end() != null;
                return;
            }
        }
        end = isLonger ? FinishReason.LENGTH : chunk.end();
        engineEnded = chunk.end() != null;
        if (isLonger && !engineEnded && !over) {
            finish(FinishReason.LENGTH);
        }
    }

    private void takeUsage(Chunk.Counted usage) {
        int expected = engine.dialect().promptTokens(ask.request());
        if (end != null && usage.promptTokens() != Chunk.NOT_TOLD && usage.promptTokens() != expected) {
            if (engine.dialect().tellsIds()) {
                fail(EngineFailure.of("the engine computed a prompt of " + usage.promptTokens()
                        + " tokens, it was sent " + expected));
                return;
            }
            engine.readOtherwise(usage.promptTokens(), expected);
        }
        if (usage.cachedTokens() != Chunk.NOT_TOLD) {
            family.told(Math.clamp(usage.cachedTokens(), 0, ask.promptLength()));
        }
        if (end != null) {
            finish(end);
        }
    }

    /** Nothing comes any more. @param lack what it is called if that is too early */
    private void conclude(String lack) {
        if (!over && end != null) {
            finish(end);
        } else {
            fail(EngineFailure.of("the engine did not finish: " + lack));
        }
    }

    private static EngineFailure unreadable(UnreadableAnswerException e) {
        return EngineFailure.of("the engine's answer cannot be right: " + e.getMessage());
    }

    private void finish(FinishReason reason) {
        var usage = new Usage(ask.promptLength(), family.cachedTokens(), told);
        engine.counts().countFinished(reason, usage);
        leave();
        listener.onFinished(reason, usage);
        engine.told();
    }

    private void fail(EngineFailure failure) {
        if (!over) {
            engine.counts().countFailed(failure.reason());
            if (failure.reason() == FailureReason.ENGINE_FAILURE) {
                engine.suspect();
            }
            leave();
            listener.onFailed(failure.reason(), failure.message());
            engine.told();
        }
    }

    /** Its last step, whichever way it ends. An answer that has come to its end leaves the connection to others. */
    private void leave() {
        over = true;
        body = null;
        if (alarm != null) {
            alarm.cancel(false);
        }
        if (exchange != null) {
            hangUp(exchange);
        }
        engine.left(this);
        giveTurn();
        followers.forEach(ForeignGeneration::start);
        if (listener.wantsTimes()) {
            listener.onOver(new GenerationTimes(submittedNanos, GenerationTimes.NEVER, sentNanos, firstTokenNanos,
                    engine.nanoTime(), ask.promptLength(), family.cachedTokens(), told, /* preemptions */ 0));
        }
    }

    /** Not at once: whoever fails as soon as it is sent would do so within this, and the next within that. */
    private void giveTurn() {
        ForeignGeneration next = engine.turns().leave(this);
        if (next != null) {
            engine.onLoop(next::send);
        }
    }

    private void hangUp(Disposable from) {
        if (engineEnded) {
            engine.connections().loop().schedule(from::dispose, LAST_WORDS_SECONDS, TimeUnit.SECONDS);
            return;
        }
        from.dispose();
        Dialect.Farewell farewell = engine.dialect().farewell(ask);
        if (farewell != null) {
            engine.connections().tell(farewell.path(), farewell.body());
        }
    }

    /** Looks at the times again when the next of them may be up. */
    private void watch() {
        if (alarm != null) {
            alarm.cancel(false);
        }
        long now = engine.nanoTime();
        long silence = queued ? Long.MAX_VALUE                         // then its own time alone passes
                : newsNanos + engine.longestSilenceNanos(firstTokenNanos != GenerationTimes.NEVER) - now;
        long left = deadlineNanos() == Long.MAX_VALUE ? Long.MAX_VALUE : deadlineNanos() - now;
        if (left <= 0) {
            fail(new EngineFailure(FailureReason.DEADLINE_EXCEEDED, "the request's " + ask.request().timeoutMillis()
                    + " ms were over after " + told + " tokens"));
        } else if (silence <= 0) {
            conclude("it said nothing for " + TimeUnit.NANOSECONDS.toMillis(now - newsNanos) + " ms");
        } else if (Math.min(silence, left) != Long.MAX_VALUE) {
            alarm = engine.connections().loop().schedule(this::watch, Math.min(silence, left), TimeUnit.NANOSECONDS);
        }
    }

    private long deadlineNanos() {
        long millis = ask.request().timeoutMillis();
        return millis == 0 ? Long.MAX_VALUE
                : submittedNanos + Math.min(TimeUnit.MILLISECONDS.toNanos(millis), Long.MAX_VALUE / 2);
    }
}
