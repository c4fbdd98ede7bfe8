package dev.warmpath.worker.generate;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * Where the engine's thread leaves what is to be written. After each step it wakes each writing thread at most once, with
 * all streams that have news, however many those are.
 */
@Component
public final class Outbox {

    private static final Logger log = LoggerFactory.getLogger(Outbox.class);

    /** Encoding a few integers a token is little work; what counts is that the engine's thread does none of it. */
    private static final int WRITING_THREADS = 2;

    private final Scheduler writing = Schedulers.newParallel("generate", WRITING_THREADS, /* daemon */ true);
    private final List<Lane> lanes =
            Stream.generate(() -> new Lane(writing.createWorker())).limit(WRITING_THREADS).toList();
    private final AtomicInteger streams = new AtomicInteger();

    /** A thread for one more stream, which keeps it. */
    Lane lane() {
        return lanes.get(Math.floorMod(streams.getAndIncrement(), lanes.size()));
    }

    /** To be called by the engine's thread when it has told what there was to tell. */
    public void send() {
        for (int i = 0; i < lanes.size(); i++) {
            lanes.get(i).send();
        }
    }

    /** One writing thread: tasks run one at a time, in order. */
    static final class Lane {

        private final Scheduler.Worker thread;
        /** The engine's thread's own. */
        private List<TokenStream> withNews = new ArrayList<>();
        private long sends;

        private Lane(Scheduler.Worker thread) {
            this.thread = thread;
        }

        /** On the engine's thread: written with the next {@link #send}. */
        void add(TokenStream stream) {
            if (stream.addedBefore != sends) {                      // once, however many of its choices have news
                stream.addedBefore = sends;
                withNews.add(stream);
            }
        }

        /** On any thread: written soon. */
        void write(TokenStream stream) {
            write(List.of(stream));
        }

        private void send() {
            sends++;
            if (!withNews.isEmpty()) {
                write(withNews);
                withNews = new ArrayList<>();
            }
        }

        private void write(List<TokenStream> some) {
            run(() -> some.forEach(Lane::drain));
        }

        /** On any thread: done soon, on the writing thread. */
        void run(Runnable task) {
            try {
                thread.schedule(task);
            } catch (RejectedExecutionException e) {
                log.debug("this worker has stopped, some streams are not written to", e);
            }
        }

        /** What breaks in one stream is not to hold up those behind it. */
        private static void drain(TokenStream stream) {
            try {
                stream.drain();
            } catch (RuntimeException e) {
                log.warn("a stream could not be written to", e);
            }
        }
    }
}
